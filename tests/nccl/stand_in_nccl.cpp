#include "tests/nccl/stand_in_nccl.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl/nccl_api.h"
#include "tests/nccl/nccl_rules.h"
#include "tests/nccl/one_gpu.h"

namespace octet::test {
namespace {

Communicator* last_announced = nullptr;

/// Passes all on; an all_gather is how ids are told.
class Announced final : public Communicator {
 public:
  explicit Announced(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  Stream& stream() const override { return inner_->stream(); }
  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    last_announced = inner_.get();
    inner_->all_gather(send, recv, count, dtype);
  }
  void reduce_scatter(const float* s, float* r, std::int64_t n) override { inner_->reduce_scatter(s, r, n); }
  void all_reduce(void* d, std::int64_t n, DType t, ReduceOp op) override { inner_->all_reduce(d, n, t, op); }
  void all_to_all(const void* s, void* r, std::int64_t n, DType t) override { inner_->all_to_all(s, r, n, t); }
  void broadcast(void* d, std::int64_t n, DType t, int root) override { inner_->broadcast(d, n, t, root); }
  void send(const void* d, std::int64_t n, DType t, int to) override { inner_->send(d, n, t, to); }
  void recv(void* d, std::int64_t n, DType t, int from) override { inner_->recv(d, n, t, from); }
  void barrier() override { inner_->barrier(); }
  void group_begin() override { inner_->group_begin(); }
  void group_end() override { inner_->group_end(); }
  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    return announced(inner_->split(color, key, std::move(name)));
  }
  std::unique_ptr<Communicator> alias(std::string name) override { return announced(inner_->alias(std::move(name))); }
  std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) override {
    return announced(inner_->on_stream(stream, std::move(name)));
  }
  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    return announced(inner_->split_by_node(std::move(name)));
  }
  MemorySource& memory() override { return inner_->memory(); }
  [[noreturn]] void abort(int exit_code) override {
    inner_->abort(exit_code);
    std::abort();  // gcc does not believe a virtual noreturn
  }

 private:
  std::unique_ptr<Communicator> inner_;
};

/// What carries a call that is in progress.
struct Job {
  int references = 0;  ///< communicators that have yet to see its success
};

/// What an ncclComm_t points to.
struct Comm {
  std::unique_ptr<Communicator> inner;
  std::string name;
  int polls = 0;
  Job* job = nullptr;
  std::thread::id maker = std::this_thread::get_id();
  ncclResult_t failure = ncclSuccess;  ///< what it answers for the rest of its life
  int windows = 0;                     ///< that were registered with it
};

Comm& of(ncclComm_t comm) {
  return *reinterpret_cast<Comm*>(comm);
}

int depth = 0;                           ///< of ncclGroupStart
ncclResult_t group_error = ncclSuccess;  ///< of a call in the group: none of the others is made

/// `error`: for ncclGetLastError, whichever communicator it is asked of.
ncclResult_t refuse(ncclResult_t result, std::string error) {
  stand_in().last_error = std::move(error);
  return result;
}

ncclResult_t fail(Comm& comm, ncclResult_t result, std::string error) {
  if (depth > 0) group_error = result;
  return comm.failure = refuse(result, std::move(error));
}

/// What the communicators were given is in progress from now on.
void begin_job(const std::vector<Comm*>& comms) {
  Job* const job = new Job;
  ++stand_in().jobs_made;
  for (Comm* c : comms) {
    c->polls = stand_in().polls;
    if (c->job != nullptr) continue;
    c->job = job;
    ++job->references;
  }
}

void leave_job(Comm& comm) {
  if (comm.job == nullptr) return;
  if (--comm.job->references == 0) {
    delete comm.job;
    ++stand_in().jobs_freed;
  }
  comm.job = nullptr;
}

ncclResult_t state_of(ncclComm_t comm, ncclResult_t* state) {
  if (std::this_thread::get_id() != of(comm).maker) ++stand_in().asked_elsewhere;
  *state = of(comm).failure != ncclSuccess ? of(comm).failure : stand_in().fails_with;
  if (*state != ncclSuccess) return ncclSuccess;
  if (stand_in().never_ready || of(comm).polls > 0) *state = ncclInProgress;
  if (of(comm).polls > 0) --of(comm).polls;
  if (*state == ncclSuccess) leave_job(of(comm));
  return ncclSuccess;
}

/// ncclCommEnsureReady.
ncclResult_t ensure_ready(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  state_of(comm, &state);
  if (state != ncclInProgress) return state;
  return fail(of(comm), ncclInvalidArgument,
              "Attempt to use communicator before the previous operation returned ncclSuccess");
}

struct Call {
  Comm* comm;
  std::function<void(Communicator&)> run;
  bool exchange = false;  ///< a send or receive
};
std::vector<Call> grouped;

ncclResult_t run_all() {
  const std::vector<Call> calls = std::exchange(grouped, {});
  const ncclResult_t error = std::exchange(group_error, ncclSuccess);
  if (calls.empty()) return error;
  std::vector<Comm*> comms;
  for (const Call& c : calls) {
    if (std::find(comms.begin(), comms.end(), c.comm) == comms.end()) comms.push_back(c.comm);
  }
  ncclResult_t result = error;
  for (Comm* comm : comms) {
    if (error != ncclSuccess && comm->failure == ncclSuccess) comm->failure = error;
    const auto exchanges = static_cast<std::size_t>(
        std::ranges::count_if(calls, [&](const Call& c) { return c.comm == comm && c.exchange; }));
    if (exchanges > 0) stand_in().exchanges.push_back(exchanges);
    if (exchanges <= stand_in().most_exchanges) continue;
    result = fail(*comm, ncclInvalidUsage, fmt::format("{} sends and receives in one group", exchanges));
  }
  if (result != ncclSuccess) return result;
  for (Comm* c : comms) c->inner->group_begin();
  for (const Call& c : calls) c.run(*c.comm->inner);
  for (Comm* c : comms) c->inner->group_end();
  begin_job(comms);
  return ncclInProgress;
}

ncclResult_t add(ncclComm_t comm, std::function<void(Communicator&)> run, bool exchange = false) {
  if (const ncclResult_t ready = ensure_ready(comm); ready != ncclSuccess) return ready;
  grouped.push_back({&of(comm), std::move(run), exchange});
  return depth > 0 ? ncclSuccess : run_all();
}

std::int64_t count_of(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

std::optional<std::string> host_id;

/// Collective. Empty, or as NCCL says it.
std::string duplicate_gpu(Communicator& group) {
  if (!host_id) {
    const char* const set = std::getenv("NCCL_HOSTID");
    host_id = set != nullptr ? set : "this machine";
  }
  const std::pair<std::size_t, int> mine{std::hash<std::string>()(*host_id), stand_in().gpu};
  std::vector<std::pair<std::size_t, int>> all(static_cast<std::size_t>(group.size()));
  group.all_gather(&mine, all.data(), sizeof mine, DType::u8);
  for (int r = 0; r < group.size(); ++r) {
    if (r == group.rank() || all[static_cast<std::size_t>(r)] != mine) continue;
    return fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA device {}", group.rank(), r,
                       mine.second);
  }
  return {};
}

/// Collective. Whether all ranks say the same.
bool alike(Communicator& group, const std::vector<std::int64_t>& mine) {
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(group.size()));
  group.all_gather(mine.data(), all.data(), count_of(mine.size() * sizeof mine[0]), DType::u8);
  for (auto theirs = all.begin(); theirs != all.end(); theirs += static_cast<std::ptrdiff_t>(mine.size())) {
    if (!std::equal(mine.begin(), mine.end(), theirs)) return false;
  }
  return true;
}

std::string_view bytes_of(const ncclUniqueId& id) {
  return {id.internal, sizeof id.internal};
}

/// No two of a process are equal, nor those of two processes.
ncclResult_t make_id(ncclUniqueId* id) {
  if (stand_in().without_device) return refuse(ncclUnhandledCudaError, "Cuda failure 'no device'");
  *id = {};
  const std::string text = fmt::format("{} of process {}", stand_in().ids_made++, getpid());
  std::copy(text.begin(), text.end(), id->internal);
  return ncclSuccess;
}

bool are_ids(std::span<const ncclUniqueId> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i].internal[0] == 0) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (bytes_of(ids[i]) == bytes_of(ids[j])) return false;
    }
  }
  return !ids.empty();
}

ncclResult_t init(ncclComm_t* comm, int ranks, int rank, std::span<const ncclUniqueId> ids, ncclConfig_t* config) {
  *comm = nullptr;
  if (std::string why = why_refused(*config); !why.empty()) return refuse(ncclInvalidArgument, std::move(why));
  if (config->blocking != 0 || last_announced == nullptr || last_announced->size() != ranks) return ncclInvalidArgument;
  if (!are_ids(ids) || count_of(ids.size()) > ranks) return ncclInvalidArgument;
  auto made = std::make_unique<Comm>();
  made->inner = last_announced->split(0, rank, std::string("stand-in of ") + config->commName);
  made->name = config->commName;
  begin_job({made.get()});
  std::string told;
  for (const ncclUniqueId& id : ids) told += bytes_of(id);
  if (!alike(*made->inner, {count_of(told.size()), count_of(std::hash<std::string>()(told))})) {
    fail(*made, ncclInvalidUsage, "the ids of the ranks differ");
  }
  if (std::string error = duplicate_gpu(*made->inner); !error.empty()) fail(*made, ncclInvalidUsage, std::move(error));
  stand_in().configs[config->commName] = *config;
  stand_in().made.emplace_back(config->commName);
  stand_in().ids[config->commName] = ids.size();
  ++stand_in().alive;
  *comm = reinterpret_cast<ncclComm_t>(made.release());
  stand_in().comms[config->commName] = *comm;
  return ncclInProgress;
}

using Memories = std::map<const char*, StandIn::Memory>;

/// The memory with which the group is registered and in which `p` lies, or the end.
Memories::iterator registered(ncclComm_t comm, const void* p) {
  const auto* const place = static_cast<const char*>(p);
  Memories& all = stand_in().memory;
  auto found = all.upper_bound(place);
  if (found == all.begin()) return all.end();
  --found;
  const bool known = place < found->first + found->second.bytes && found->second.group == of(comm).name;
  return known ? found : all.end();
}

/// Notes a call with memory that its group does not know.
void look_at(ncclComm_t comm, std::initializer_list<const void*> used) {
  for (const void* p : used) {
    if (registered(comm, p) == stand_in().memory.end()) return void(++stand_in().outside[of(comm).name]);
  }
}

/// Collective where the group has windows. What the ranks give a collective lies in the same one of them, at the same
/// place of it: NCCL finds a peer's buffer by the place of its own ("NCCL_WIN_COLL_SYMMETRIC" in its user guide).
ncclResult_t symmetric(ncclComm_t comm, std::initializer_list<const void*> used) {
  if (of(comm).windows == 0) return ncclSuccess;
  std::vector<std::int64_t> places;
  for (const void* p : used) {
    const auto found = registered(comm, p);
    const bool inside = found != stand_in().memory.end() && found->second.window;
    places.push_back(inside ? found->second.order : -1);
    places.push_back(inside ? static_cast<const char*>(p) - found->first : -1);
  }
  if (alike(*of(comm).inner, places)) return ncclSuccess;
  return fail(of(comm), ncclInvalidArgument, "the ranks have buffers in other windows or at other places of them");
}

constexpr std::size_t window_alignment = 4096;  // NCCL_WIN_REQUIRED_ALIGNMENT, which older headers do not have

ncclResult_t allocate(void** memory, std::size_t bytes) {
  if (stand_in().out_of_memory) return refuse(ncclUnhandledCudaError, "Cuda failure 'out of memory'");
  *memory = std::aligned_alloc(window_alignment, (bytes + window_alignment - 1) / window_alignment * window_alignment);
  stand_in().memory[static_cast<char*>(*memory)] = {.bytes = bytes};
  return ncclSuccess;
}

/// Of a window it is collective. NCCL does not ask whether the communicator is ready when a buffer is registered with
/// ncclCommRegister; but what is in progress reads the list that it writes.
ncclResult_t enter(ncclComm_t comm, void* memory, std::size_t bytes, void** handle, bool window) {
  if (const ncclResult_t ready = ensure_ready(comm); ready != ncclSuccess) return ready;
  const std::size_t beside = reinterpret_cast<std::uintptr_t>(memory) % window_alignment;
  if (window && !alike(*of(comm).inner, {count_of(bytes), count_of(beside)})) {
    return fail(of(comm), ncclInvalidArgument, "the ranks register windows of other sizes, or in another order");
  }
  if (window && beside != 0) return fail(of(comm), ncclInvalidArgument, "Window address must be suitably aligned.");
  const auto found = stand_in().memory.find(static_cast<char*>(memory));
  if (found == stand_in().memory.end() || found->second.bytes != bytes) return ncclInvalidArgument;
  found->second.group = of(comm).name;
  found->second.window = window;
  if (window) found->second.order = of(comm).windows++;
  ++stand_in().registrations;
  *handle = memory;
  begin_job({&of(comm)});
  return ncclInProgress;
}

ncclResult_t leave(ncclComm_t comm, void* handle, bool window) {
  if (const ncclResult_t ready = ensure_ready(comm); ready != ncclSuccess) return ready;
  StandIn::Memory& m = stand_in().memory.at(static_cast<char*>(handle));
  if (m.group != of(comm).name || m.window != window) return ncclInvalidArgument;
  m.group.clear();
  return ncclSuccess;
}

/// Of memory that is registered with no group any more.
ncclResult_t give_back(void* memory) {
  const auto found = stand_in().memory.find(static_cast<char*>(memory));
  if (found == stand_in().memory.end()) return refuse(ncclInvalidUsage, "memory is freed that nobody has");
  if (!found->second.group.empty()) return refuse(ncclInvalidUsage, "memory is freed while it is registered");
  std::free(memory);
  stand_in().memory.erase(found);
  return ncclSuccess;
}

ncclResult_t end(ncclComm_t comm, int& how) {
  leave_job(of(comm));
  delete reinterpret_cast<Comm*>(comm);
  --stand_in().alive;
  ++how;
  return ncclSuccess;
}

ncclResult_t finalize(ncclComm_t comm) {
  if (const ncclResult_t ready = ensure_ready(comm); ready != ncclSuccess) {
    ++stand_in().finalized_too_early;
    return ready;
  }
  begin_job({&of(comm)});
  return ncclInProgress;
}

ncclResult_t destroy(ncclComm_t comm) {
  const ncclResult_t ready = ensure_ready(comm);
  return ready == ncclSuccess ? end(comm, stand_in().destroyed) : ready;
}

/// What is sent in place begins, on all ranks, where the whole does.
ncclResult_t all_gather(const void* send, void* recv, std::size_t n, ncclDataType_t, ncclComm_t comm, cudaStream_t) {
  look_at(comm, {send, recv});
  const bool in_place = send == static_cast<char*>(recv) + static_cast<std::size_t>(of(comm).inner->rank()) * n;
  if (const ncclResult_t r = symmetric(comm, {in_place ? recv : send, recv}); r != ncclSuccess) return r;
  return add(comm, [=](Communicator& c) { c.all_gather(send, recv, count_of(n), DType::u8); });
}

ncclResult_t reduce_scatter(const void* send, void* recv, std::size_t n, ncclDataType_t type, ncclRedOp_t op,
                            ncclComm_t comm, cudaStream_t) {
  if (type != ncclFloat32 || op != ncclSum) return ncclInvalidArgument;
  look_at(comm, {send, recv});
  if (const ncclResult_t r = symmetric(comm, {send, recv}); r != ncclSuccess) return r;
  return add(comm, [=](Communicator& c) {
    c.reduce_scatter(static_cast<const float*>(send), static_cast<float*>(recv), count_of(n));
  });
}

ncclResult_t all_reduce(const void* send, void* recv, std::size_t n, ncclDataType_t type, ncclRedOp_t op,
                        ncclComm_t comm, cudaStream_t) {
  if (type != ncclFloat32 && type != ncclInt32) return ncclInvalidArgument;
  if (const ncclResult_t r = symmetric(comm, {send, recv}); r != ncclSuccess) return r;
  return add(comm, [=](Communicator& c) {
    const DType dtype = type == ncclFloat32 ? DType::f32 : DType::i32;
    const ReduceOp reduce = op == ncclSum ? ReduceOp::sum : ReduceOp::max;
    send == recv ? c.all_reduce(recv, count_of(n), dtype, reduce)
                 : c.all_reduce_to(send, recv, count_of(n), dtype, reduce);
  });
}

}  // namespace

StandIn& stand_in() {
  static StandIn instance;
  return instance;
}

const NcclApi& stand_in_api() {
  static const NcclApi api = {
      .get_version = [](int* version) { return *version = stand_in().version, ncclSuccess; },
      .get_unique_id = make_id,
      .comm_init_rank_config =
          [](ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
            return init(comm, ranks, rank, {&id, 1}, config);
          },
      .comm_finalize = finalize,
      .comm_destroy = destroy,
      .comm_abort = [](ncclComm_t comm) { return end(comm, stand_in().aborted); },
      .comm_get_async_error = state_of,
      .get_error_string = [](ncclResult_t result) { return result == ncclRemoteError ? "remote process exited" : "?"; },
      .get_last_error =
          [](ncclComm_t) { return stand_in().last_error.empty() ? "socket closed" : stand_in().last_error.c_str(); },
      .group_start = [] { return ++depth, ncclSuccess; },
      .group_end =
          [] {
            if (--depth > 0) return ncclSuccess;
            return run_all();
          },
      .all_gather = all_gather,
      .reduce_scatter = reduce_scatter,
      .all_reduce = all_reduce,
      .broadcast =
          [](const void* send, void* recv, std::size_t n, ncclDataType_t, int root, ncclComm_t comm, cudaStream_t) {
            return add(comm, [=](Communicator& c) {
              send == recv ? c.broadcast(recv, count_of(n), DType::u8, root)
                           : c.broadcast_to(send, recv, count_of(n), DType::u8, root);
            });
          },
      .send =
          [](const void* data, std::size_t n, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t) {
            look_at(comm, {data});
            return add(
                comm, [=](Communicator& c) { c.send(data, count_of(n), DType::u8, peer); }, true);
          },
      .recv =
          [](void* data, std::size_t n, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t) {
            look_at(comm, {data});
            return add(
                comm, [=](Communicator& c) { c.recv(data, count_of(n), DType::u8, peer); }, true);
          },
      .mem_alloc = allocate,
      .mem_free = give_back,
      .comm_register = [](ncclComm_t comm, void* memory, std::size_t bytes,
                          void** handle) { return enter(comm, memory, bytes, handle, false); },
      .comm_deregister = [](ncclComm_t comm, void* handle) { return leave(comm, handle, false); },
      .comm_window_register =
          [](ncclComm_t comm, void* memory, std::size_t bytes, void** handle, int flags) {
            return flags == NCCL_WIN_COLL_SYMMETRIC ? enter(comm, memory, bytes, handle, true) : ncclInvalidArgument;
          },
      .comm_window_deregister = [](ncclComm_t comm, void* handle) { return leave(comm, handle, true); },
      .comm_init_rank_scalable =
          [](ncclComm_t* comm, int ranks, int rank, int n, ncclUniqueId* ids, ncclConfig_t* config) {
            return init(comm, ranks, rank, {ids, static_cast<std::size_t>(n)}, config);
          },
  };
  return api;
}

void forget_host_id() {
  host_id.reset();
}

std::unique_ptr<Communicator> make_on_stand_in(Stream& stream, const NcclSettings& settings, const std::string& name) {
  share_one_gpu();
  return make_nccl_communicator(announced(make_mpi_communicator(stream, name)), stream, settings, stand_in_api());
}

std::unique_ptr<Communicator> announced(std::unique_ptr<Communicator> inner) {
  return std::make_unique<Announced>(std::move(inner));
}

}  // namespace octet::test

#include "tests/nccl/stand_in_nccl.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl/nccl_api.h"
#include "tests/nccl/one_gpu.h"

namespace octet::test {
namespace {

Communicator* last_announced = nullptr;

/// Passes all on; a broadcast is how an id is told.
class Announced final : public Communicator {
 public:
  explicit Announced(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  Stream& stream() const override { return inner_->stream(); }
  void all_gather(const void* s, void* r, std::int64_t n, DType t) override { inner_->all_gather(s, r, n, t); }
  void reduce_scatter(const float* s, float* r, std::int64_t n) override { inner_->reduce_scatter(s, r, n); }
  void all_reduce(void* d, std::int64_t n, DType t, ReduceOp op) override { inner_->all_reduce(d, n, t, op); }
  void all_to_all(const void* s, void* r, std::int64_t n, DType t) override { inner_->all_to_all(s, r, n, t); }
  void broadcast(void* data, std::int64_t count, DType dtype, int root) override {
    last_announced = inner_.get();
    inner_->broadcast(data, count, dtype, root);
  }
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
  std::string error;  ///< in its making: the rest of its life it answers ncclInvalidUsage
};

Comm& of(ncclComm_t comm) {
  return *reinterpret_cast<Comm*>(comm);
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

struct Call {
  Comm* comm;
  std::function<void(Communicator&)> run;
};
int depth = 0;
std::vector<Call> grouped;

void run_all(const std::vector<Call>& calls) {
  std::vector<Comm*> comms;
  for (const Call& c : calls) {
    if (std::find(comms.begin(), comms.end(), c.comm) == comms.end()) comms.push_back(c.comm);
  }
  for (Comm* c : comms) c->inner->group_begin();
  for (const Call& c : calls) c.run(*c.comm->inner);
  for (Comm* c : comms) c->inner->group_end();
  begin_job(comms);
}

ncclResult_t add(ncclComm_t comm, std::function<void(Communicator&)> run) {
  grouped.push_back({&of(comm), std::move(run)});
  if (depth > 0) return ncclSuccess;
  run_all(std::exchange(grouped, {}));
  return ncclInProgress;
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

ncclResult_t init(ncclComm_t* comm, int ranks, ncclUniqueId, int rank, ncclConfig_t* config) {
  if (config->blocking != 0 || last_announced == nullptr || last_announced->size() != ranks) return ncclInvalidArgument;
  auto made = std::make_unique<Comm>();
  made->inner = last_announced->split(0, rank, std::string("stand-in of ") + config->commName);
  made->name = config->commName;
  begin_job({made.get()});
  made->error = duplicate_gpu(*made->inner);
  stand_in().configs[config->commName] = *config;
  stand_in().made.emplace_back(config->commName);
  ++stand_in().alive;
  *comm = reinterpret_cast<ncclComm_t>(made.release());
  return ncclInProgress;
}

/// Notes a call with memory that its group does not know.
void look_at(ncclComm_t comm, std::initializer_list<const void*> used) {
  for (const void* p : used) {
    const auto* const place = static_cast<const char*>(p);
    auto after = stand_in().memory.upper_bound(place);
    const bool known = after != stand_in().memory.begin() && place < (--after)->first + after->second.bytes &&
                       after->second.group == of(comm).name;
    if (!known) return void(++stand_in().outside[of(comm).name]);
  }
}

ncclResult_t allocate(void** memory, std::size_t bytes) {
  if (stand_in().out_of_memory) return ncclUnhandledCudaError;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  stand_in().memory[static_cast<char*>(*memory)] = {.bytes = bytes};
  return ncclSuccess;
}

ncclResult_t enter(ncclComm_t comm, void* memory, std::size_t bytes, void** handle, bool window) {
  const auto found = stand_in().memory.find(static_cast<char*>(memory));
  if (found == stand_in().memory.end() || found->second.bytes != bytes) return ncclInvalidArgument;
  found->second.group = of(comm).name;
  found->second.window = window;
  ++stand_in().registrations;
  *handle = memory;
  begin_job({&of(comm)});
  return ncclInProgress;
}

ncclResult_t leave(ncclComm_t comm, void* handle, bool window) {
  StandIn::Memory& m = stand_in().memory.at(static_cast<char*>(handle));
  if (m.group != of(comm).name || m.window != window) return ncclInvalidArgument;
  m.group.clear();
  return ncclSuccess;
}

/// Of memory that is registered with no group any more.
ncclResult_t give_back(void* memory) {
  const auto found = stand_in().memory.find(static_cast<char*>(memory));
  if (found == stand_in().memory.end() || !found->second.group.empty()) return ncclInvalidUsage;
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

ncclResult_t state_of(ncclComm_t comm, ncclResult_t* state) {
  if (std::this_thread::get_id() != of(comm).maker) ++stand_in().asked_elsewhere;
  *state = of(comm).error.empty() ? stand_in().fails_with : ncclInvalidUsage;
  if (*state != ncclSuccess) return ncclSuccess;
  if (stand_in().never_ready || of(comm).polls > 0) *state = ncclInProgress;
  if (of(comm).polls > 0) --of(comm).polls;
  if (*state == ncclSuccess) leave_job(of(comm));
  return ncclSuccess;
}

ncclResult_t reduce_scatter(const void* send, void* recv, std::size_t n, ncclDataType_t type, ncclRedOp_t op,
                            ncclComm_t comm, cudaStream_t) {
  if (type != ncclFloat32 || op != ncclSum) return ncclInvalidArgument;
  look_at(comm, {send, recv});
  return add(comm, [=](Communicator& c) {
    c.reduce_scatter(static_cast<const float*>(send), static_cast<float*>(recv), count_of(n));
  });
}

ncclResult_t all_reduce(const void* send, void* recv, std::size_t n, ncclDataType_t type, ncclRedOp_t op,
                        ncclComm_t comm, cudaStream_t) {
  if (type != ncclFloat32 && type != ncclInt32) return ncclInvalidArgument;
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
      .get_unique_id = [](ncclUniqueId* id) { return std::memset(id, 7, sizeof *id), ncclSuccess; },
      .comm_init_rank_config = init,
      .comm_finalize = [](ncclComm_t comm) { return begin_job({&of(comm)}), ncclInProgress; },
      .comm_destroy = [](ncclComm_t comm) { return end(comm, stand_in().destroyed); },
      .comm_abort = [](ncclComm_t comm) { return end(comm, stand_in().aborted); },
      .comm_get_async_error = state_of,
      .get_error_string = [](ncclResult_t result) { return result == ncclRemoteError ? "remote process exited" : "?"; },
      .get_last_error =
          [](ncclComm_t comm) { return of(comm).error.empty() ? "socket closed" : of(comm).error.c_str(); },
      .group_start = [] { return ++depth, ncclSuccess; },
      .group_end =
          [] {
            if (--depth > 0) return ncclSuccess;
            run_all(std::exchange(grouped, {}));
            return ncclInProgress;
          },
      .all_gather =
          [](const void* send, void* recv, std::size_t n, ncclDataType_t, ncclComm_t comm, cudaStream_t) {
            look_at(comm, {send, recv});
            return add(comm, [=](Communicator& c) { c.all_gather(send, recv, count_of(n), DType::u8); });
          },
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
            return add(comm, [=](Communicator& c) { c.send(data, count_of(n), DType::u8, peer); });
          },
      .recv =
          [](void* data, std::size_t n, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t) {
            look_at(comm, {data});
            return add(comm, [=](Communicator& c) { c.recv(data, count_of(n), DType::u8, peer); });
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

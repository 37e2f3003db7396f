// An NCCL for emulated devices, in place of src/comm/nccl/nccl_api.cpp: calls are work of their streams, which carry it
// out over MPI. A call ends on no rank before its peers have come to it, and its buffers are read and written while it
// runs, as late as streams do their work. MPI is asked by the threads of all streams, and by the hosts'
// (nccl_launches.h).
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "src/comm/nccl/nccl_api.h"
#include "tests/emulated/checks/watched.h"
#include "tests/emulated/nccl_calls.h"
#include "tests/emulated/nccl_launches.h"
#include "tests/emulated/streams.h"
#include "tests/nccl/nccl_rules.h"

namespace octet {
namespace {

using emulated::Begin, emulated::Begun, emulated::Call, emulated::Comm, emulated::Way, emulated::begin_telling,
    emulated::tell_all, emulated::world_rank;

/// Before MPI starts: the programs of tests ask for no level of threads (tests/support/mpi_main.cpp), and for no order
/// of launches (src/comm/nccl_process.h).
const int threads_asked = setenv("MPIR_CVAR_DEFAULT_THREAD_LEVEL", "MPI_THREAD_MULTIPLE", 1);
const int order_asked = setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);

/// What an ncclUniqueId holds: who waits for the others, and for what.
struct Meeting {
  int root, tag;
};

/// World's rank of each of the group's.
std::vector<int> members(const Meeting& at, int ranks, int rank) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  const int me = world_rank();
  if (me != at.root) {
    MPI_Send(&rank, 1, MPI_INT, at.root, at.tag, MPI_COMM_WORLD);
    MPI_Recv(all.data(), ranks, MPI_INT, at.root, at.tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return all;
  }
  all[static_cast<std::size_t>(rank)] = me;
  for (int i = 1; i < ranks; ++i) {
    int other = 0;
    MPI_Status from;
    MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, at.tag, MPI_COMM_WORLD, &from);
    all[static_cast<std::size_t>(other)] = from.MPI_SOURCE;
  }
  for (const int other : all) {
    if (other != me) MPI_Send(all.data(), ranks, MPI_INT, other, at.tag, MPI_COMM_WORLD);
  }
  return all;
}

ncclResult_t get_unique_id(ncclUniqueId* id) {
  static int made = 0;
  const Meeting at{world_rank(), 1000 + made++};
  std::memset(id, 0, sizeof *id);
  std::memcpy(id, &at, sizeof at);
  return ncclSuccess;
}

/// What ncclGetLastError says.
std::string last_error;

ncclResult_t refuse(std::string why) {
  last_error = std::move(why);
  return ncclInvalidArgument;
}

ncclResult_t init(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  *comm = nullptr;
  if (std::string why = test::why_refused(*config); !why.empty()) return refuse(std::move(why));
  Meeting at{};
  std::memcpy(&at, &id, sizeof at);
  const std::vector<int> all = members(at, ranks, rank);
  auto* made = new Comm;
  made->rank = rank;
  made->size = ranks;
  made->blocks = config->blocking != 0;
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, ranks, all.data(), &group);
  for (MPI_Comm* of : {&made->streams, &made->hosts}) MPI_Comm_create_group(MPI_COMM_WORLD, group, at.tag, of);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  emulated::Device& device = emulated::Device::get();
  const emulated::Lock lock(device.mutex);
  if (const bool is_first = !std::exchange(device.has_peers, true); is_first && emulated::accesses_are_checked)
    device.on_fault = [] { MPI_Abort(MPI_COMM_WORLD, 70); };
  *comm = reinterpret_cast<ncclComm_t>(made);
  return made->blocks ? ncclSuccess : ncclInProgress;
}

thread_local int depth = 0;
thread_local std::vector<Call> grouped;

ncclResult_t add(ncclComm_t comm, cudaStream_t stream, Way way, Begin begin) {
  if (emulated::in_progress(Comm::of(comm)))
    return refuse("Attempt to use comm before the previous operation returned ncclSuccess");
  Call call{&Comm::of(comm), stream, way.first.data(), way, std::move(begin)};
  if (depth == 0) return emulated::launch({std::move(call)});
  grouped.push_back(std::move(call));
  return ncclSuccess;
}

ncclResult_t end_group() {
  return --depth > 0 ? ncclSuccess : emulated::launch(std::exchange(grouped, {}));
}

/// A collective's way, by what each rank sends.
Way among_all(std::string_view name, std::size_t n) {
  return {name, std::bit_width(n)};
}

/// MPI's counts are ints, so that the emulation carries less than NCCL.
bool is_too_much(std::size_t n) {
  return n > static_cast<std::size_t>(std::numeric_limits<int>::max());
}
ncclResult_t refuse_count(const char* call, std::size_t n) {
  return refuse(
      fmt::format("{} of {} elements: the emulation carries {} at most", call, n, std::numeric_limits<int>::max()));
}

ncclResult_t all_gather(const void* send, void* recv, std::size_t n, ncclDataType_t type, ncclComm_t comm,
                        cudaStream_t stream) {
  if (type != ncclUint8) return ncclInvalidArgument;
  if (is_too_much(n)) return refuse_count("ncclAllGather", n);
  return add(comm, stream, among_all("ncclAllGather", n), [=](Begun& b) {
    b.copy_sent(send, n);
    const int count = static_cast<int>(n);
    b.writes(recv, n * static_cast<std::size_t>(Comm::of(comm).size));
    tell_all(b, Comm::of(comm).streams, Comm::of(comm).size);
    MPI_Iallgather(b.sent.data(), count, MPI_BYTE, recv, count, MPI_BYTE, Comm::of(comm).streams, b.request());
  });
}

ncclResult_t reduce_scatter(const void* send, void* recv, std::size_t n, ncclDataType_t type, ncclRedOp_t op,
                            ncclComm_t comm, cudaStream_t stream) {
  if (type != ncclFloat32 || op != ncclSum) return ncclInvalidArgument;
  if (is_too_much(n)) return refuse_count("ncclReduceScatter", n);
  return add(comm, stream, among_all("ncclReduceScatter", n), [=](Begun& b) {
    b.copy_sent(send, n * 4 * static_cast<std::size_t>(Comm::of(comm).size));
    b.writes(recv, n * 4);
    tell_all(b, Comm::of(comm).streams, Comm::of(comm).size);
    MPI_Ireduce_scatter_block(b.sent.data(), recv, static_cast<int>(n), MPI_FLOAT, MPI_SUM, Comm::of(comm).streams,
                              b.request());
  });
}

ncclResult_t all_reduce(const void* send, void* recv, std::size_t n, ncclDataType_t type, ncclRedOp_t op,
                        ncclComm_t comm, cudaStream_t stream) {
  if (type != ncclFloat32 && type != ncclInt32) return ncclInvalidArgument;
  if (is_too_much(n)) return refuse_count("ncclAllReduce", n);
  return add(comm, stream, among_all("ncclAllReduce", n), [=](Begun& b) {
    b.copy_sent(send, n * 4);
    b.writes(recv, n * 4);
    tell_all(b, Comm::of(comm).streams, Comm::of(comm).size);
    MPI_Iallreduce(b.sent.data(), recv, static_cast<int>(n), type == ncclFloat32 ? MPI_FLOAT : MPI_INT,
                   op == ncclSum ? MPI_SUM : MPI_MAX, Comm::of(comm).streams, b.request());
  });
}

ncclResult_t broadcast(const void* send, void* recv, std::size_t n, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  if (type != ncclUint8) return ncclInvalidArgument;
  if (is_too_much(n)) return refuse_count("ncclBroadcast", n);
  return add(comm, stream, among_all("ncclBroadcast", n), [=](Begun& b) {
    const bool is_root = Comm::of(comm).rank == root;
    if (is_root) b.reads(send, n);
    if (!is_root || send != recv) b.writes(recv, n);
    if (begin_telling(b, 1)) {
      if (is_root) b.heard = b.tells;
      MPI_Ibcast(b.heard.data(), static_cast<int>(b.heard.size()), MPI_UINT64_T, root, Comm::of(comm).streams,
                 b.request());
    }
    if (is_root && send != recv) std::memcpy(recv, send, n);
    MPI_Ibcast(recv, static_cast<int>(n), MPI_BYTE, root, Comm::of(comm).streams, b.request());
  });
}

ncclResult_t send(const void* data, std::size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                  cudaStream_t stream) {
  if (type != ncclUint8) return ncclInvalidArgument;
  if (is_too_much(n)) return refuse_count("ncclSend", n);
  return add(comm, stream, {"ncclSend", peer}, [=](Begun& b) {
    b.reads(data, n);
    MPI_Isend(data, static_cast<int>(n), MPI_BYTE, peer, 0, Comm::of(comm).streams, b.request());
    if (!begin_telling(b, 0, b.is_alone)) return;
    MPI_Isend(b.tells.data(), static_cast<int>(b.tells.size()), MPI_UINT64_T, peer, 1, Comm::of(comm).streams,
              b.request());
  });
}

/// It writes nothing before the message is there: what was before that is on the sender is before what is written.
ncclResult_t receive(void* data, std::size_t n, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  if (type != ncclUint8) return ncclInvalidArgument;
  if (is_too_much(n)) return refuse_count("ncclRecv", n);
  return add(comm, stream, {"ncclRecv", peer}, [=](Begun& b) {
    MPI_Irecv(data, static_cast<int>(n), MPI_BYTE, peer, 0, Comm::of(comm).streams, b.request());
    if (!begin_telling(b, 1)) return;
    b.writes_when_heard(data, n);
    MPI_Irecv(b.heard.data(), static_cast<int>(b.heard.size()), MPI_UINT64_T, peer, 1, Comm::of(comm).streams,
              b.request());
  });
}

/// Memory that communicators know.
std::multimap<void*, ncclComm_t> registered;

ncclResult_t enter(ncclComm_t comm, void* memory, std::size_t, void** handle) {
  registered.emplace(memory, comm);
  *handle = memory;
  return ncclSuccess;
}

ncclResult_t leave(ncclComm_t comm, void* handle) {
  const auto [begin, last] = registered.equal_range(handle);
  const auto found = std::find_if(begin, last, [&](const auto& entry) { return entry.second == comm; });
  if (found == last) return refuse("memory is deregistered with which the communicator is not registered");
  registered.erase(found);
  return ncclSuccess;
}

/// What was registered with it is so no longer.
ncclResult_t end(ncclComm_t comm) {
  std::erase_if(registered, [&](const auto& entry) { return entry.second == comm; });
  emulated::give_up(Comm::of(comm));
  delete &Comm::of(comm);
  return ncclSuccess;
}

ncclResult_t finalize(ncclComm_t comm) {
  return emulated::in_progress(Comm::of(comm)) ? refuse("a communicator is finalized while it is in progress")
                                               : ncclSuccess;
}

/// NCCL's kernels and cards would go on with an address that is another's by then.
ncclResult_t free_memory(void* memory) {
  if (registered.contains(memory)) return refuse("memory is freed while it is registered");
  return cudaFree(memory) == cudaSuccess ? ncclSuccess : ncclSystemError;
}

}  // namespace

const NcclApi& nccl_api() {
  static const NcclApi api = {
      .get_version = [](int* version) { return *version = NCCL_VERSION_CODE, ncclSuccess; },
      .get_unique_id = get_unique_id,
      .comm_init_rank_config = init,
      .comm_finalize = finalize,
      .comm_destroy = end,
      .comm_abort = end,
      .comm_get_async_error =
          [](ncclComm_t comm, ncclResult_t* state) {
            return *state = emulated::in_progress(Comm::of(comm)) ? ncclInProgress : ncclSuccess, ncclSuccess;
          },
      .get_error_string = [](ncclResult_t result) { return result == ncclSuccess ? "no error" : "an error"; },
      .get_last_error = [](ncclComm_t) { return last_error.c_str(); },
      .group_start = [] { return ++depth, ncclSuccess; },
      .group_end = end_group,
      .all_gather = all_gather,
      .reduce_scatter = reduce_scatter,
      .all_reduce = all_reduce,
      .broadcast = broadcast,
      .send = send,
      .recv = receive,
      .mem_alloc = [](void** memory,
                      std::size_t n) { return cudaMalloc(memory, n) == cudaSuccess ? ncclSuccess : ncclSystemError; },
      .mem_free = free_memory,
      .comm_register = enter,
      .comm_deregister = leave,
      .comm_window_register = [](ncclComm_t comm, void* memory, std::size_t n, void** handle,
                                 int) { return enter(comm, memory, n, handle); },
      .comm_window_deregister = leave,
  };
  return api;
}

}  // namespace octet

/// Programs ask for MPI in one thread alone (src/comm/mpi/mpi_runtime.cpp).
extern "C" int MPI_Init_thread(int* argc, char*** argv, int, int* provided) {
  return PMPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, provided);
}

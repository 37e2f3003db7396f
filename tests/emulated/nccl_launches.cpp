#include "tests/emulated/nccl_launches.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "tests/emulated/streams.h"

namespace octet::emulated {

struct Launch {
  std::vector<Call> calls;
  std::vector<MPI_Request> hosts;
};

namespace {

std::mutex mutex;  // a watchdog's thread may ask, too

void connect(const Call& call, std::vector<MPI_Request>& hosts) {
  constexpr int of_sender = 0, of_receiver = 1;
  static const bool every_call = setting("OCTET_EMULATED_MEETINGS", 0) == 1;
  Comm& comm = *call.comm;
  if (!comm.connected.insert(call.way).second && !every_call) return;
  const bool sends = call.way.first == "ncclSend";
  if (!sends && call.way.first != "ncclRecv") {
    MPI_Ibarrier(comm.hosts, &hosts.emplace_back(MPI_REQUEST_NULL));
    return;
  }
  const int peer = call.way.second;
  MPI_Isend(nullptr, 0, MPI_BYTE, peer, sends ? of_sender : of_receiver, comm.hosts,
            &hosts.emplace_back(MPI_REQUEST_NULL));
  MPI_Irecv(nullptr, 0, MPI_BYTE, peer, sends ? of_receiver : of_sender, comm.hosts,
            &hosts.emplace_back(MPI_REQUEST_NULL));
}

/// Where a launch is on the device.
struct Start {
  std::shared_ptr<Stream> stream;
  std::uint64_t position;
  bool is_reached = false;
};

/// Starts no earlier than the launch before, which may be another communicator's (NCCL_LAUNCH_ORDER_IMPLICIT). It is no
/// order that a program may count on, so that clocks know nothing of it.
void start_behind(const std::shared_ptr<Start>& before, const std::shared_ptr<Start>& mine) {
  Device& device = Device::get();
  Lock lock(device.mutex);
  if (before != nullptr) {
    device.begin(*before->stream, before->position);
    device.wait_until(lock, [&] { return before->is_reached || before->stream->done >= before->position; });
  }
  mine->is_reached = true;
  device.tell_waiting();
}

/// A stream's calls of one group are one piece of its work.
void give_to_streams(std::vector<Call> calls) {
  static std::shared_ptr<Start> last;
  static const bool in_order = setting("NCCL_LAUNCH_ORDER_IMPLICIT", 0) == 1;
  Device& device = Device::get();
  const Lock lock(device.mutex);
  while (!calls.empty()) {
    const cudaStream_t stream = calls.front().stream;
    std::string names;
    std::vector<Begin> of_stream;
    std::erase_if(calls, [&](Call& call) {
      if (call.stream != stream) return false;
      if (names.find(call.name) == std::string::npos) names += (names.empty() ? "" : " and ") + std::string(call.name);
      of_stream.push_back(std::move(call.begin));
      return true;
    });
    const auto on = device.stream(stream);
    const auto mine = std::make_shared<Start>(Start{on, on->given + 1});
    const auto before = in_order && on->capture == nullptr ? std::exchange(last, mine) : nullptr;
    device.give(stream, std::move(names), [before, mine, begins = std::move(of_stream)] {
      start_behind(before, mine);
      carry_out(begins);
    });
  }
}

/// With the mutex held.
bool is_over(const std::shared_ptr<Launch>& launch) {
  int connected = 0;
  MPI_Testall(static_cast<int>(launch->hosts.size()), launch->hosts.data(), &connected, MPI_STATUSES_IGNORE);
  if (connected == 0) return false;
  for (const Call& call : launch->calls) call.comm->launch = nullptr;
  give_to_streams(std::exchange(launch->calls, {}));
  return true;
}

}  // namespace

bool in_progress(Comm& comm) {
  const std::lock_guard lock(mutex);
  const auto launch = comm.launch;
  return launch != nullptr && !is_over(launch);
}

ncclResult_t launch(std::vector<Call> calls) {
  if (calls.empty()) return ncclSuccess;
  const bool blocks = std::any_of(calls.begin(), calls.end(), [](const Call& call) { return call.comm->blocks; });
  Comm& first = *calls.front().comm;
  {
    const std::lock_guard lock(mutex);
    const auto launch = std::make_shared<Launch>();
    for (const Call& call : calls) {
      call.comm->launch = launch;
      connect(call, launch->hosts);
    }
    launch->calls = std::move(calls);
  }
  if (!blocks) return ncclInProgress;
  while (in_progress(first)) usleep(50);
  return ncclSuccess;
}

void give_up(Comm& comm) {
  const std::lock_guard lock(mutex);
  const auto launch = std::exchange(comm.launch, nullptr);
  if (launch != nullptr) std::erase_if(launch->calls, [&](const Call& call) { return call.comm == &comm; });
}

}  // namespace octet::emulated

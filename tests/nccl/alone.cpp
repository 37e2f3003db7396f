// One rank over the stand-in for NCCL in a process of its own, without MPI: what a test program cannot do to itself,
// and what ThreadSanitizer looks at.
//   octet-nccl-alone watch     the main thread launches while a watchdog and another thread ask what is in flight
//   octet-nccl-alone record    recording an event of the device never comes back
//   octet-nccl-alone query     neither does asking for one
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

#include "src/comm/in_flight.h"
#include "src/comm/nccl/nccl_api.h"
#include "src/comm/operation.h"
#include "src/comm/watchdog.h"
#include "tests/nccl/slow_device.h"
#include "tests/nccl/stand_in_nccl.h"

namespace octet::test {
namespace {

std::unique_ptr<Communicator> make_group(Stream& slow, Stream& host) {
  return make_nccl_communicator(announced(make_self_communicator(host, "dp_shard")), slow, {.one_rank_groups = true},
                                stand_in_api());
}

int watch() {
  SlowDevice device;
  const auto slow = device.make_stream(), host = cpu_device().make_stream();
  auto group = make_group(*slow, *host);
  const Watchdog watchdog({.start = 600, .step = 600}, 0);
  std::atomic<bool> over = false;
  std::thread onlooker([&] {
    while (!over) {
      operations_in_flight();
      std::this_thread::yield();
    }
  });
  float x = 1;
  for (int i = 0; i < 1000; ++i) {
    device.done = i % 3 == 0;
    group->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
    poll_in_flight();
  }
  over = true;
  onlooker.join();
  group.reset();
  std::printf("%d jobs, %d freed, %d questions by others\n", stand_in().jobs_made, stand_in().jobs_freed,
              stand_in().asked_elsewhere);
  return stand_in().jobs_made == stand_in().jobs_freed && stand_in().asked_elsewhere == 0 ? 0 : 1;
}

int block(bool at_query) {
  SlowDevice device;
  const auto slow = device.make_stream(), host = cpu_device().make_stream();
  const auto group = make_group(*slow, *host);
  const Watchdog watchdog({.start = 0.4, .step = 0.4}, 0.2);
  float x = 1;
  device.record_blocks = !at_query;
  device.query_blocks = at_query;
  group->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
  const OperationScope operation("wait for the device");
  poll_in_flight();
  return 0;
}

}  // namespace
}  // namespace octet::test

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "watch") return octet::test::watch();
  if (what == "record" || what == "query") return octet::test::block(what == "query");
  std::fputs("usage: octet-nccl-alone watch | record | query\n", stderr);
  return 64;
}

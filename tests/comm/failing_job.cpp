// A job of which a chosen rank, or every rank, fails in a chosen way. tests/launch watches how it ends.
//   octet-failing-job WHAT RANK [TIMEOUT_SECONDS [GRACE_SECONDS]]       RANK -1: all
// It fails in phase step, whose limit TIMEOUT_SECONDS is.
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "src/base/error.h"
#include "src/base/heartbeat.h"
#include "src/base/log.h"
#include "src/comm/in_flight.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/operation.h"
#include "src/comm/watchdog.h"
#include "src/profile/scopes.h"

namespace octet {
namespace {

/// A device that does not do what it was given.
struct Stuck final : InFlight {
  explicit Stuck(bool f) : fails(f) {}
  void poll() override {
    if (fails) throw Error(ExitCode::lost_peer, "[comm] group dp_shard: NCCL: remote process exited");
  }
  std::string oldest() const override { return "reduce_scatter of 64 bytes in group dp_shard for unit layers.2"; }
  bool fails;
  InFlightScope seen{*this};
};

struct Never final : Event {
  bool complete() const override { return false; }
  void synchronize() const override { sleep(600); }
};

void fail(const std::string& what, Communicator& world) {
  if (what == "usage") throw usage_error("data", "train.bin: no such file");
  if (what == "internal") throw internal_error("ops", "shapes [2, 3] and [4] do not match");
  if (what == "lost_peer") throw Error(ExitCode::lost_peer, "[comm] the peer is gone");
  if (what == "bad_alloc") throw std::bad_alloc();
  if (what == "other") throw 42;
  if (what == "abort") world.abort(77);
  if (what == "exit") _exit(9);
  if (what == "crash") std::abort();
  if (what == "hang") sleep(600);  // its peers have to notice
  if (what == "stuck") {           // so has its own watchdog
    const OperationScope step("step"), operation("read of train.bin");
    sleep(600);
  }
  if (what == "launch") {  // blocks behind a collective that hangs
    heartbeat::begin("gemm");
    sleep(600);
  }
  if (what == "device" || what == "device_error") {
    Stuck device(what == "device_error");
    const OperationScope operation("wait for the device");
    if (device.fails) await(Never(), operation);
    sleep(600);  // in a call of the device
  }
  if (what == "busy") {  // longer than deadline and grace, but with no operation that is
    for (int i = 0; i < 30; ++i) {
      const OperationScope operation("read of train.bin");
      usleep(100'000);
    }
  }
}

int body(MpiRuntime& runtime, int argc, char** argv) {
  if (argc < 3) throw usage_error("jobs", "expected WHAT RANK [TIMEOUT_SECONDS [GRACE_SECONDS]]");
  const int rank = std::atoi(argv[2]);
  const Watchdog watchdog({.start = 600.0, .step = argc > 3 ? std::atof(argv[3]) : 600.0},
                          argc > 4 ? std::atof(argv[4]) : 30.0);
  const auto stream = cpu_device().make_stream();
  const auto world = make_mpi_communicator(*stream, "world");
  const auto copy = world->split(0, world->rank(), "dp_shard");
  copy->barrier();
  const RunPhaseScope phase(RunPhase::step);
  if (rank < 0 || rank == runtime.rank()) fail(argv[1], *world);
  const UnitScope unit("layers.3");
  float x = 1.0f;
  copy->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
  log::out("finished: {} on {} of {}", x, runtime.local_rank(), runtime.local_size());
  return std::string(argv[1]) == "resumable" ? static_cast<int>(ExitCode::resumable) : 0;
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  return octet::run_main(argc, argv, octet::body);
}

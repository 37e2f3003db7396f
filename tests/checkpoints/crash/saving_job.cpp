// A run that does nothing but save: takes up the newest checkpoint, checks every element of it, and saves each step up
// to the last one. tests/crash ends it at any point and starts it again.
//   octet-saving-job ROOT LAST_STEP [mpi [WRITERS_PER_NODE]]
// Prints "found N" or "found none", then "committed N" after each save. One process, or with mpi as many as are
// started.
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <memory>

#include "src/base/log.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "tests/checkpoints/virtual_run.h"

namespace octet::checkpoint {
namespace {

/// By one call and at once, so that it stands there whatever comes next.
void say(const std::string& text) {
  (void)!write(STDOUT_FILENO, text.data(), text.size());
}

/// Takes up what is there and saves, on every rank of `world`.
void run(const std::string& root, std::int64_t last, int writers, Communicator& world, Stream& stream) {
  std::int64_t step = 0;
  if (const std::optional<Found> found = find_newest_valid(root, world)) {
    step = found->manifest.state.step;
    if (const auto wrong = test::wrong_tensor(*found, 2)) {
      throw internal_error("tests", "{}: tensor {} is wrong", found->directory, *wrong);
    }
  }
  const bool speaks = world.rank() == 0;
  if (speaks) say(step == 0 ? "found none\n" : fmt::format("found {}\n", step));
  Saver saver({.root = root, .keep_last = 2, .writers_per_node = writers}, world, stream);
  test::VirtualRank rank(world.rank(), world.size());
  for (++step; step <= last; ++step) {
    rank.set(step);
    saver.start(test::state_at(step), rank.pieces());
    rank.set(step + 1);
    saver.finish();
    if (speaks) say(fmt::format("committed {}\n", step));
  }
}

int run_alone(const std::string& root, std::int64_t last) {
  const auto stream = cpu_device().make_stream();
  const auto world = make_self_communicator(*stream, "world");
  try {
    run(root, last, 0, *world, *stream);
    return 0;
  } catch (const Error& error) {
    log::error("{}", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    log::error("{}", error.what());
    return 1;  // nothing of ours
  }
}

int body(MpiRuntime&, int argc, char** argv) {
  const auto stream = cpu_device().make_stream();
  const auto world = make_mpi_communicator(*stream, "world");
  run(argv[1], std::atoll(argv[2]), argc > 4 ? std::atoi(argv[4]) : 0, *world, *stream);
  return 0;
}

}  // namespace
}  // namespace octet::checkpoint

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  if (argc > 3) return octet::run_main(argc, argv, octet::checkpoint::body);
  return octet::checkpoint::run_alone(argv[1], std::atoll(argv[2]));
}

// One rank that saves, prunes and resumes in a process of its own, without MPI: what ThreadSanitizer looks at. The main
// thread trains on while the saver's threads write and hash, older checkpoints are read and removed, and a watchdog
// asks what is going on.
#include <cstdio>
#include <thread>

#include "checkpoints/save/saver.h"
#include "src/base/error.h"
#include "src/comm/communicator.h"
#include "src/comm/watchdog.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/virtual_run.h"

namespace octet::checkpoint::test {
namespace {

void expect(bool holds, const char* what) {
  if (!holds) throw internal_error("test", "{}", what);
}

/// One start of the run: `steps` steps, and a checkpoint at each. Older ones are not known to be whole, so that they
/// are read before one goes.
void save_all(const std::string& root, std::int64_t first, std::int64_t steps, Communicator& world, Stream& stream) {
  VirtualRank rank(0, 1);
  Saver saver({.root = root, .keep_last = 2}, world, stream);
  for (std::int64_t step = first; step < first + steps; ++step) {
    rank.set(step);
    saver.start(state_at(step), rank.pieces());
    for (int micro_batch = 0; saver.busy() && micro_batch < 20; ++micro_batch) {
      rank.set(step + micro_batch);  // what training goes on to write must not show in the checkpoint
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      saver.poll();
    }
    saver.wait();
  }
  saver.finish();
}

void run() {
  const TemporaryDirectory folder;
  const std::string root = folder / "checkpoints";
  const auto stream = cpu_device().make_stream();
  const auto world = make_self_communicator(*stream, "world");
  const Watchdog watchdog({.start = 600, .step = 600}, 0);
  save_all(root, 1, 4, *world, *stream);
  save_all(root, 5, 4, *world, *stream);
  const auto found = find_newest_valid(root, *world);
  expect(found && found->manifest.state.step == 8, "the newest checkpoint is that of step 8");
  expect(!wrong_tensor(*found, 1), "it holds what was there at its step");
  expect(list_checkpoints(root).size() == 2, "two stay");
}

}  // namespace
}  // namespace octet::checkpoint::test

int main() {
  try {
    octet::checkpoint::test::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

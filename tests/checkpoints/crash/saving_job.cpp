// A run that does nothing but save: takes up the newest checkpoint, checks every element of it, and saves each step up
// to the last one. tests/crash ends it at any point and starts it again.
//   octet-saving-job ROOT LAST_STEP [KEEP]
// Prints "found N" or "found none", then "committed N" after each save. One process, without MPI.
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <memory>

#include "src/base/log.h"
#include "tests/checkpoints/virtual_run.h"

namespace octet::checkpoint {
namespace {

/// By one call and at once, so that it stands there whatever comes next.
void say(const std::string& text) {
  (void)!write(STDOUT_FILENO, text.data(), text.size());
}

void run(const std::string& root, std::int64_t last, int keep) {
  const auto stream = cpu_device().make_stream();
  const auto world = make_self_communicator(*stream, "world");
  std::int64_t step = 0;
  if (const std::optional<Found> found = find_newest_valid(root, *world, *stream)) {
    step = found->manifest.state.step;
    if (const auto wrong = test::wrong_tensor(*found, 2)) {
      throw internal_error("tests", "{}: tensor {} is wrong", found->directory, *wrong);
    }
  }
  say(step == 0 ? "found none\n" : fmt::format("found {}\n", step));
  Saver saver({.root = root, .keep_last = keep}, *world, *stream);
  test::VirtualRank rank(0, 1);
  for (++step; step <= last; ++step) {
    rank.set(step);
    saver.start(test::state_at(step), rank.pieces());
    rank.set(step + 1);
    saver.finish();
    say(fmt::format("committed {}\n", step));
  }
}

}  // namespace
}  // namespace octet::checkpoint

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  try {
    octet::checkpoint::run(argv[1], std::atoll(argv[2]), argc > 3 ? std::atoi(argv[3]) : 2);
    return 0;
  } catch (const octet::Error& error) {
    octet::log::error("{}", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    octet::log::error("{}", error.what());
    return 1;  // nothing of ours
  }
}

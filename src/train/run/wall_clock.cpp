#include "src/train/run/wall_clock.h"

#include <chrono>

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;
const Clock::time_point program_start = Clock::now();  // when the program was loaded

}  // namespace

double WallClock::seconds() {
  return std::chrono::duration<double>(Clock::now() - program_start).count();
}

}  // namespace octet

#include "checkpoints/restore/read_pace.h"

#include <algorithm>
#include <thread>

namespace octet::checkpoint {

ReadPace::Seconds ReadPace::rest_after(Seconds read) {
  return std::min(3 * read, Seconds(1));
}

void ReadPace::rest() {
  if (!hurries_) {
    std::this_thread::sleep_for(rest_after(Clock::now() - rested_));
    ++rests_;
  }
  rested_ = Clock::now();
}

}  // namespace octet::checkpoint

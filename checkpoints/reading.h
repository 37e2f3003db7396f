#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "checkpoints/read_file.h"

namespace octet::checkpoint {

/// Thrown out of a read that shall end early.
struct ReadStopped {};

/// What a thread that reads files and the one that waits for it share.
class ReadProgress {
 public:
  /// The reader's: it has that many bytes more. Throws ReadStopped when it shall end.
  void add(std::int64_t bytes) {
    bytes_ += bytes;
    if (stop_) throw ReadStopped{};
  }

  /// The reader's: it begins with that file.
  void begin(const std::string& path) {
    const std::lock_guard lock(mutex_);
    path_ = path;
  }
  /// The file that was begun last.
  std::string path() const {
    const std::lock_guard lock(mutex_);
    return path_;
  }

  void stop() { stop_ = true; }
  void go_on() { stop_ = false; }
  bool stopped() const { return stop_; }
  /// The bytes read since it was made.
  std::int64_t bytes() const { return bytes_; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<std::int64_t> bytes_ = 0;
  mutable std::mutex mutex_;  // of the path
  std::string path_;
};

/// Runs `work` again 0.5, 1 and 2 s later (times the factor OCTET_TEST_PAUSES, for tests) where it throws a ReadError,
/// with a warning of this rank each time; throws the last one. What another try does not change is asked for once: a
/// file that is not there, unless its folder is not there either (a mount that is late), a name that is none, a lack of
/// rights. Throws ReadStopped when it is stopped between two tries. Any thread.
void with_retries(ReadProgress& progress, const std::function<void()>& work);

}  // namespace octet::checkpoint

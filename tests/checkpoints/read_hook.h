#pragma once

#include <functional>
#include <utility>

namespace octet::checkpoint::test {

/// Called before each pread of the program where it is set, on the thread that reads; what it returns is errno of that
/// read, or 0 where the read shall go on. To be set while nothing reads.
extern std::function<int()> before_read;

/// Takes it back in the end.
struct ReadHook {
  explicit ReadHook(std::function<int()> hook) { before_read = std::move(hook); }
  ~ReadHook() { before_read = nullptr; }
  ReadHook(const ReadHook&) = delete;
  ReadHook& operator=(const ReadHook&) = delete;
};

}  // namespace octet::checkpoint::test

#pragma once

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "src/base/files.h"

namespace octet::checkpoint::test {

/// How a file is opened and closed by those that read it. (Equal events in a row are told as one.)
class OpenEvents {
 public:
  explicit OpenEvents(const std::string& path) : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    if (!events_ || ::inotify_add_watch(events_.get(), path.c_str(), IN_OPEN | IN_CLOSE_NOWRITE) < 0) {
      throw std::runtime_error("cannot watch " + path);
    }
  }

  /// Since the last call: "o" for opened, "c" for closed.
  std::string take() {
    std::string all;
    std::array<inotify_event, 64> events{};  // without names, since the file itself is watched
    for (ssize_t bytes = 0; (bytes = ::read(events_.get(), events.data(), sizeof events)) > 0;) {
      const auto n = static_cast<std::size_t>(bytes) / sizeof events[0];
      for (std::size_t i = 0; i < n; ++i) all += (events[i].mask & IN_OPEN) != 0 ? 'o' : 'c';
    }
    return all;
  }

 private:
  FileHandle events_;
};

}  // namespace octet::checkpoint::test

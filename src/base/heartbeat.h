#pragma once

#include <atomic>
#include <cstdint>

namespace octet::heartbeat {

namespace detail {
inline std::atomic<const char*> last = "the start of the program";
inline std::atomic<std::uint64_t> count = 0;
inline thread_local bool watched = false;
}  // namespace detail

/// The thread that calls this is the one whose progress counts, until `watch(false)`: a process's main thread.
inline void watch(bool on) {
  detail::watched = on;
}

/// The watched thread begins something that may hang: a kernel's launch, a wait, a read of data, a collective. `what`
/// is a literal, for the message should nothing follow it. Other threads do not count: they may go on while that one
/// hangs. Costs two relaxed stores, so that any room calls it wherever it likes.
inline void begin(const char* what) {
  if (!detail::watched) return;
  detail::last.store(what, std::memory_order_relaxed);
  detail::count.store(detail::count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // one writer
}

/// How often the watched thread has begun something; while the number grows, that thread makes progress. Any thread, as
/// for last().
inline std::uint64_t count() {
  return detail::count.load(std::memory_order_relaxed);
}
inline const char* last() {
  return detail::last.load(std::memory_order_relaxed);
}

}  // namespace octet::heartbeat

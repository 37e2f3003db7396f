#pragma once

#include <future>
#include <type_traits>

namespace octet {

/// Runs `work` on a thread of its own, or, where the system gives no thread, when its result is asked for. `work` is
/// copied: std::async moves what it may, and where it finds no thread it has moved it away already, so that what it
/// then runs later would find nothing.
template <typename Work>
std::future<std::invoke_result_t<const Work&>> in_background(const Work& work) {
  return std::async(std::launch::async | std::launch::deferred, work);
}

}  // namespace octet

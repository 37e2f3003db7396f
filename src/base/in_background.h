#pragma once

#include <future>
#include <type_traits>

namespace octet {

/// Runs `work` on a thread of its own, or, where the system gives no thread, when its result is asked for. `work` is
/// copied: std::async would move an object that it may move, and where no thread can be started, the object would
/// already be moved away when the deferred call uses it.
template <typename Work>
std::future<std::invoke_result_t<const Work&>> in_background(const Work& work) {
  return std::async(std::launch::async | std::launch::deferred, work);
}

}  // namespace octet

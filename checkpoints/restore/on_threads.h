#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace octet::checkpoint {

/// Runs work(i, stop) for each i below n, on that many threads at most (at least one), and returns when all have ended.
/// Where the system gives fewer threads these do it all, and the calling thread where it gives none.
/// `meanwhile` (may be null) is called on the calling thread every 50 ms, and in the end. What the first call throws
/// comes out, as does what `meanwhile` throws: then no other call begins, and `stop` asks those that have begun to end.
void on_threads(std::size_t n, int threads, const std::function<void(std::size_t, const std::stop_token&)>& work,
                const std::function<void()>& meanwhile = nullptr);

}  // namespace octet::checkpoint

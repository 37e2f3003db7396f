#include "checkpoints/restore/on_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace octet::checkpoint {

void on_threads(std::size_t n, int threads, const std::function<void(std::size_t, const std::stop_token&)>& work,
                const std::function<void()>& meanwhile) {
  std::atomic<std::size_t> next = 0;
  std::stop_source stop;
  std::size_t running = 0;
  std::exception_ptr failure;
  std::mutex mutex;  // of `running` and `failure`
  std::condition_variable all_ended;
  const auto take_turns = [&] {
    std::exception_ptr thrown;
    try {
      for (std::size_t i = next++; i < n && !stop.stop_requested(); i = next++) work(i, stop.get_token());
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    if (thrown && !failure) failure = thrown;
    if (thrown) stop.request_stop();  // after the failure is kept: who stops for it may throw too
    if (--running == 0) all_ended.notify_one();
  };
  std::vector<std::jthread> pool;  // joins when it goes
  std::unique_lock lock(mutex);
  // Where `meanwhile` throws, the others end too. Goes before the lock.
  struct End {
    std::stop_source& stop;
    ~End() { stop.request_stop(); }
  };
  const End end{stop};
  for (std::size_t t = 0; t < std::min(n, static_cast<std::size_t>(std::max(1, threads))); ++t) {
    try {
      pool.emplace_back(take_turns);
    } catch (const std::system_error&) {  // the system gives no more: those that there are do it all
      break;
    }
    ++running;
  }
  if (pool.empty() && n > 0) {
    ++running;
    lock.unlock();
    take_turns();
    lock.lock();
  }
  while (!all_ended.wait_for(lock, std::chrono::milliseconds(50), [&] { return running == 0; })) {
    if (meanwhile) meanwhile();
  }
  if (meanwhile) meanwhile();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace octet::checkpoint

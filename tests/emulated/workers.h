#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace octet::emulated {

/// Threads of the operating system that run blocks. They stay, since their fibers do.
class Workers {
 public:
  static Workers& get();
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// job(i) for each i below `count`, all at once. Of one thread at a time; a job throws nothing.
  void run(unsigned count, const std::function<void(unsigned)>& job);

 private:
  Workers() = default;
  void work(unsigned i);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  std::vector<std::uint64_t> done_;  ///< the generation that each has done last
  const std::function<void(unsigned)>* job_ = nullptr;
  unsigned count_ = 0, left_ = 0;
  std::uint64_t generation_ = 0;
  bool stop_ = false;
};

}  // namespace octet::emulated

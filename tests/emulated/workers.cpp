#include "tests/emulated/workers.h"

namespace octet::emulated {

Workers& Workers::get() {
  static Workers all;
  return all;
}

Workers::~Workers() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Workers::run(unsigned count, const std::function<void(unsigned)>& job) {
  std::unique_lock lock(mutex_);
  while (threads_.size() < count) {
    const auto i = static_cast<unsigned>(threads_.size());
    done_.push_back(generation_);
    threads_.emplace_back([this, i] { work(i); });
  }
  job_ = &job;
  count_ = count;
  left_ = count;
  ++generation_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return left_ == 0; });
}

void Workers::work(unsigned i) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || (done_[i] != generation_ && i < count_); });
    if (stop_) return;
    done_[i] = generation_;
    lock.unlock();
    (*job_)(i);
    lock.lock();
    if (--left_ == 0) changed_.notify_all();
  }
}

}  // namespace octet::emulated

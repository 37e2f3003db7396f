#pragma once

#include <chrono>
#include <thread>

#include "src/base/random.h"
#include "tests/support/forwarding_communicator.h"

namespace octet::test {

/// `inner` that sleeps for a random time, another on every rank, before each call: ranks meet in ever new timings.
class DelayedCommunicator final : public ForwardingCommunicator {
 public:
  DelayedCommunicator(std::unique_ptr<Communicator> inner, std::uint64_t seed)
      : ForwardingCommunicator(std::move(inner)), key_{.seed = seed, .stream = static_cast<std::uint32_t>(rank())} {}

  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    wait();
    inner().all_gather(send, recv, count, dtype);
  }
  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    wait();
    inner().reduce_scatter(send, recv, count);
  }
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    wait();
    inner().all_reduce(data, count, dtype, op);
  }
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) override {
    wait();
    inner().all_to_all(send, recv, count, dtype);
  }
  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    return std::make_unique<DelayedCommunicator>(inner().split(color, key, std::move(name)), key_.seed + 1);
  }
  std::unique_ptr<Communicator> alias(std::string name) override {
    return std::make_unique<DelayedCommunicator>(inner().alias(std::move(name)), key_.seed + 1);
  }

 private:
  void wait() {
    if (size() == 1) return;
    std::this_thread::sleep_for(std::chrono::microseconds(random_bits(key_, calls_++) % 800));
  }

  RandomKey key_;
  std::uint64_t calls_ = 0;
};

}  // namespace octet::test

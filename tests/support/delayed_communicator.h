#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "src/base/random.h"
#include "src/comm/communicator.h"

namespace octet::test {

/// `inner` that sleeps for a random time, another on every rank, before each call: ranks meet in ever new timings.
class DelayedCommunicator final : public Communicator {
 public:
  DelayedCommunicator(std::unique_ptr<Communicator> inner, std::uint64_t seed)
      : inner_(std::move(inner)), key_{.seed = seed, .stream = static_cast<std::uint32_t>(inner_->rank())} {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  Stream& stream() const override { return inner_->stream(); }
  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    wait();
    inner_->all_gather(send, recv, count, dtype);
  }
  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    wait();
    inner_->reduce_scatter(send, recv, count);
  }
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    wait();
    inner_->all_reduce(data, count, dtype, op);
  }
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) override {
    wait();
    inner_->all_to_all(send, recv, count, dtype);
  }
  void broadcast(void* data, std::int64_t count, DType dtype, int root) override {
    inner_->broadcast(data, count, dtype, root);
  }
  void send(const void* data, std::int64_t count, DType dtype, int to) override {
    inner_->send(data, count, dtype, to);
  }
  void recv(void* data, std::int64_t count, DType dtype, int from) override { inner_->recv(data, count, dtype, from); }
  void barrier() override { inner_->barrier(); }
  void group_begin() override { inner_->group_begin(); }
  void group_end() override { inner_->group_end(); }
  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    return std::make_unique<DelayedCommunicator>(inner_->split(color, key, std::move(name)), key_.seed + 1);
  }
  std::unique_ptr<Communicator> alias(std::string name) override {
    return std::make_unique<DelayedCommunicator>(inner_->alias(std::move(name)), key_.seed + 1);
  }
  std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) override {
    return inner_->on_stream(stream, name);
  }
  std::unique_ptr<Communicator> split_by_node(std::string name) override { return inner_->split_by_node(name); }
  MemorySource& memory() override { return inner_->memory(); }
  [[noreturn]] void abort(int exit_code) override {
    inner_->abort(exit_code);
    std::terminate();
  }

 private:
  void wait() {
    if (size() == 1) return;
    std::this_thread::sleep_for(std::chrono::microseconds(random_bits(key_, calls_++) % 800));
  }

  std::unique_ptr<Communicator> inner_;
  RandomKey key_;
  std::uint64_t calls_ = 0;
};

}  // namespace octet::test

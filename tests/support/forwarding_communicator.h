#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "src/comm/communicator.h"

namespace octet::test {

/// A communicator that hands every call on; those that change one derive from it.
class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  Stream& stream() const override { return inner_->stream(); }
  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    inner_->all_gather(send, recv, count, dtype);
  }
  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    inner_->reduce_scatter(send, recv, count);
  }
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    inner_->all_reduce(data, count, dtype, op);
  }
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) override {
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
    return inner_->split(color, key, std::move(name));
  }
  std::unique_ptr<Communicator> alias(std::string name) override { return inner_->alias(std::move(name)); }
  std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) override {
    return inner_->on_stream(stream, std::move(name));
  }
  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    return inner_->split_by_node(std::move(name));
  }
  MemorySource& memory() override { return inner_->memory(); }
  [[noreturn]] void abort(int exit_code) override {
    inner_->abort(exit_code);
    std::terminate();
  }

 protected:
  Communicator& inner() const { return *inner_; }

 private:
  std::unique_ptr<Communicator> inner_;
};

}  // namespace octet::test

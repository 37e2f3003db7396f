#pragma once

#include <exception>
#include <memory>
#include <string>

#include "src/comm/watchdog.h"
#include "tests/parallel/recording_device.h"

namespace octet::test {

/// `inner` on a stream of its own, whose calls are noted as "all_gather layers.1".
class Noted final : public Communicator {
 public:
  Noted(std::unique_ptr<Communicator> inner, Recording& recording) : inner_(std::move(inner)), recording_(recording) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  Stream& stream() const override { return inner_->stream(); }
  void all_gather(const void* s, void* r, std::int64_t n, DType t) override {
    note("gather ");
    inner_->all_gather(s, r, n, t);
  }
  void reduce_scatter(const float* s, float* r, std::int64_t n) override {
    note("reduce ");
    inner_->reduce_scatter(s, r, n);
  }
  void all_reduce(void* d, std::int64_t n, DType t, ReduceOp op) override { inner_->all_reduce(d, n, t, op); }
  void all_to_all(const void* s, void* r, std::int64_t n, DType t) override {
    note("reduce ");
    inner_->all_to_all(s, r, n, t);
  }
  void broadcast(void* d, std::int64_t n, DType t, int root) override { inner_->broadcast(d, n, t, root); }
  void send(const void* d, std::int64_t n, DType t, int to) override {
    note("send ");
    inner_->send(d, n, t, to);
  }
  void recv(void* d, std::int64_t n, DType t, int from) override {
    note("recv ");
    inner_->recv(d, n, t, from);
  }
  void barrier() override { inner_->barrier(); }
  void group_begin() override { inner_->group_begin(); }
  void group_end() override { inner_->group_end(); }
  std::unique_ptr<Communicator> split(int c, int k, std::string n) override { return inner_->split(c, k, n); }
  std::unique_ptr<Communicator> split_by_node(std::string n) override { return inner_->split_by_node(n); }
  std::unique_ptr<Communicator> alias(std::string n) override { return inner_->alias(n); }
  std::unique_ptr<Communicator> on_stream(Stream& s, std::string n) override { return inner_->on_stream(s, n); }
  MemorySource& memory() override { return inner_->memory(); }
  [[noreturn]] void abort(int exit_code) override {
    inner_->abort(exit_code);
    std::terminate();
  }

 private:
  void note(const std::string& what) { recording_.work(stream(), what + std::string(UnitScope::current())); }

  std::unique_ptr<Communicator> inner_;
  Recording& recording_;
};

}  // namespace octet::test

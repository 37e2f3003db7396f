#pragma once

#include "src/profile/scopes.h"
#include "tests/parallel/recording_device.h"
#include "tests/support/forwarding_communicator.h"

namespace octet::test {

/// `inner` on a stream of its own, whose calls are noted as "all_gather layers.1".
class Noted final : public ForwardingCommunicator {
 public:
  Noted(std::unique_ptr<Communicator> inner, Recording& recording)
      : ForwardingCommunicator(std::move(inner)), recording_(recording) {}
  void all_gather(const void* s, void* r, std::int64_t n, DType t) override {
    note("gather ");
    inner().all_gather(s, r, n, t);
  }
  void reduce_scatter(const float* s, float* r, std::int64_t n) override {
    note("reduce ");
    inner().reduce_scatter(s, r, n);
  }
  void all_to_all(const void* s, void* r, std::int64_t n, DType t) override {
    note("reduce ");
    inner().all_to_all(s, r, n, t);
  }
  void send(const void* d, std::int64_t n, DType t, int to) override {
    note("send ");
    inner().send(d, n, t, to);
  }
  void recv(void* d, std::int64_t n, DType t, int from) override {
    note("recv ");
    inner().recv(d, n, t, from);
  }

 private:
  void note(const std::string& what) { recording_.work(stream(), what + std::string(UnitScope::current())); }

  Recording& recording_;
};

}  // namespace octet::test

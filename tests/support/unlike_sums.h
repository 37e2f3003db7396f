#pragma once

#include <vector>

#include "tests/support/forwarding_communicator.h"

namespace octet::test {

/// `inner` whose sums of fp32 are other ones in one group than in another, as with NCCL, which adds in an order that it
/// derives from where a group's ranks are. All ranks of a group have the same. They differ by 1 in 64, in place of the
/// last bit, so that weights show it after a few steps.
class UnlikeSums final : public ForwardingCommunicator {
 public:
  /// `world_rank`: of this rank, among all that groups are split from.
  UnlikeSums(std::unique_ptr<Communicator> inner, int world_rank)
      : ForwardingCommunicator(std::move(inner)), world_rank_(world_rank) {
    first_ = world_rank;
    ForwardingCommunicator::broadcast(&first_, 1, DType::i32, 0);
  }

  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    inner().reduce_scatter(send, recv, count);
    change(recv, count);
  }
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    inner().all_reduce(data, count, dtype, op);
    if (dtype == DType::f32 && op == ReduceOp::sum) change(static_cast<float*>(data), count);
  }
  /// Sums of a group of calls are there after its end only, and would be changed too early.
  void group_begin() override {
    grouped_ = true;
    inner().group_begin();
  }
  void group_end() override {
    inner().group_end();
    grouped_ = false;
    for (const auto& [data, count] : std::exchange(later_, {})) change(data, count);
  }
  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    return std::make_unique<UnlikeSums>(inner().split(color, key, std::move(name)), world_rank_);
  }
  std::unique_ptr<Communicator> alias(std::string name) override {
    return std::make_unique<UnlikeSums>(inner().alias(std::move(name)), world_rank_);
  }

 private:
  void change(float* data, std::int64_t count) {
    if (size() == 1) return;
    if (grouped_) {
      later_.emplace_back(data, count);
      return;
    }
    if (first_ % 3 == 0) return;
    for (std::int64_t i = 0; i < count; ++i) data[i] *= 1.0f + static_cast<float>(first_ % 3) / 64;
  }

  int world_rank_;
  std::int32_t first_ = 0;  ///< world rank of the group's first
  bool grouped_ = false;
  std::vector<std::pair<float*, std::int64_t>> later_{};
};

}  // namespace octet::test

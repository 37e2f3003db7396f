#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoints/restore/resharding.h"
#include "checkpoints/restore/restore.h"
#include "checkpoints/save/saver.h"
#include "src/tensor/shard.h"
#include "tests/support/global_element.h"

namespace octet::checkpoint::test {

/// Tensors that no small number of ranks divides, with fewer rows than ranks, and vectors.
inline std::vector<StoredTensor> example_tensors() {
  std::vector<StoredTensor> tensors;
  for (const char* kind : {"master/", "first_moment/", "second_moment/"}) {
    tensors.push_back({std::string(kind) + "embedding.weight", DType::f32, {37, 12}});
    tensors.push_back({std::string(kind) + "block.0.short", DType::f32, {2, 24}});
    tensors.push_back({std::string(kind) + "norm.weight", DType::f32, {12}});
  }
  return tensors;
}

/// What element `element` of tensor number `tensor` is after `step` steps: exact in fp32, different for all of them.
inline float value_of(std::int64_t step, std::size_t tensor, std::int64_t element) {
  return static_cast<float>(step * 100'000 + static_cast<std::int64_t>(tensor) * 1'000 + element);
}

/// One rank's pieces of the example tensors, sharded along dimension 0 as FSDP does, with their values at any step.
class VirtualRank {
 public:
  VirtualRank(int shard, int shards) : tensors_(example_tensors()), values_(tensors_.size()) {
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const Shard s = Shard::of(tensors_[t].shape, shard, shards);
      boxes_.push_back({{s.offset}, tensors_[t].shape.with_rows(s.rows)});
      first_.push_back(octet::test::global_element(s, 0));
      values_[t].resize(static_cast<std::size_t>(s.elements()), -1.0f);
    }
  }

  void set(std::int64_t step) {
    for (std::size_t t = 0; t < values_.size(); ++t) {
      for (std::size_t e = 0; e < values_[t].size(); ++e) {
        values_[t][e] = value_of(step, t, first_[t] + static_cast<std::int64_t>(e));
      }
    }
  }
  std::vector<DevicePiece> pieces() const {
    std::vector<DevicePiece> all;
    for (std::size_t t = 0; t < tensors_.size(); ++t) all.push_back({tensors_[t], boxes_[t], values_[t].data()});
    return all;
  }
  std::vector<WantedPiece> wanted() {
    std::vector<WantedPiece> all;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (!values_[t].empty()) all.push_back({tensors_[t].name, boxes_[t], values_[t].data()});
    }
    return all;
  }
  /// Name of the first tensor with another value than set(step) would give it.
  std::optional<std::string> first_difference(std::int64_t step) const {
    VirtualRank expected = *this;
    expected.set(step);
    for (std::size_t t = 0; t < values_.size(); ++t) {
      if (values_[t] != expected.values_[t]) return tensors_[t].name;
    }
    return std::nullopt;
  }

 private:
  std::vector<StoredTensor> tensors_;
  std::vector<std::vector<float>> values_;
  std::vector<Box> boxes_;
  std::vector<std::int64_t> first_;  ///< global index of each piece's first element
};

/// Reads every piece of a layout of `shards` ranks. The first tensor that is wrong, if one is.
inline std::optional<std::string> wrong_tensor(const Found& found, int shards) {
  for (int shard = 0; shard < shards; ++shard) {
    VirtualRank rank(shard, shards);
    read_pieces(found.directory, found.manifest, rank.wanted());
    if (auto wrong = rank.first_difference(found.manifest.state.step)) return wrong;
  }
  return std::nullopt;
}

inline RunState state_at(std::int64_t step) {
  RunState state;
  state.step = step;
  state.seed = 7;
  state.data_fingerprint = 0xfedc'ba98'7654'3210;
  state.loss = 1.0 / static_cast<double>(step + 1);
  state.config = "train:\n  steps: 20  # \"quoted\"\n";
  state.layout = "dp_shard";
  state.program = "test";
  return state;
}

}  // namespace octet::checkpoint::test

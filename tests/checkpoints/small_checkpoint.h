#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checkpoints/format/model_tensors.h"
#include "checkpoints/restore/resharding.h"
#include "checkpoints/tools/offline_writer.h"
#include "src/base/error.h"
#include "tests/support/numbers.h"

namespace octet::checkpoint::test {

/// A model with grouped heads, whose extents few numbers divide.
inline ModelConfig small_model(bool tied = false) {
  ModelConfig model{.name = "small",
                    .dim = 20,
                    .layers = 2,
                    .heads = 4,
                    .kv_heads = 2,
                    .head_dim = 6,
                    .ffn_dim = 31,
                    .vocab_size = 45,
                    .tied_embedding = tied};
  model.finish();
  return model;
}

/// As a run stores it.
inline std::string small_config(bool tied = false) {
  return std::string("train:\n  seq_len: 32\nmodel_shape:\n") +
         "  dim: 20\n  layers: 2\n  heads: 4\n  kv_heads: 2\n  head_dim: 6\n  ffn_dim: 31\n  vocab_size: 45\n" +
         "  tied_embedding: " + (tied ? "true" : "false") + "\n";
}

/// Elements of every tensor, by name.
using Values = std::map<std::string, std::vector<float>>;

/// Numbers that rounding has to treat with care are among them: ties, subnormal numbers, zeros of both signs, the
/// largest.
inline Values values_of(const std::vector<StoredTensor>& tensors, std::uint32_t seed = 1) {
  const std::vector<std::uint32_t> special = {0x3F808000, 0x3F818000, 0x80000000, 0x00000001,
                                              0x007FFFFF, 0x7F7FFFFF, 0xBF80C000, 0x3F807FFF};
  Values values;
  for (std::uint32_t t = 0; t < tensors.size(); ++t) {
    auto x = octet::test::random_values(tensors[t].shape.elements(), seed * 1000 + t, 0.1);
    for (std::size_t i = 0; i < special.size() && i < x.size(); ++i) x[i] = std::bit_cast<float>(special[i]);
    values[tensors[t].name] = std::move(x);
  }
  return values;
}

/// Writes a checkpoint with these values; `most` bytes a part.
inline Manifest write_values(const std::string& directory, const RunState& state,
                             const std::vector<StoredTensor>& tensors, const Values& values, int writers,
                             std::int64_t most = most_part_bytes) {
  const PartSource source = [&](const Part& part) -> const void* {
    const StoredTensor& t = tensors[static_cast<std::size_t>(part.tensor)];
    return values.at(t.name).data() + part.box.offset[0] * t.shape.row_elements();
  };
  return write_checkpoint(directory, state, tensors, plan_writers(tensors, writers, most), source);
}

inline RunState small_state(std::int64_t step, bool tied = false) {
  return {.step = step,
          .seed = 7,
          .data_fingerprint = 0xABCDEF,
          .loss = 1.25,
          .config = small_config(tied),
          .layout = "dp_replicate 1 x dp_shard 3",
          .program = "octet test"};
}

/// Takes out the largest float, which stands among the first eight of each tensor and which 16 bits do not hold.
inline void without_the_largest(Values& values) {
  for (auto& [name, x] : values) {
    for (float& v : x) v = std::abs(v) > 1e30f ? 1.5f : v;
  }
}

/// A checkpoint of the small model at `step`, written by three; returns its values.
inline Values write_small(const std::string& directory, std::int64_t step, std::uint32_t seed = 1, bool tied = false) {
  const auto tensors = training_tensors(small_model(tied));
  Values values = values_of(tensors, seed);
  write_values(directory, small_state(step, tied), tensors, values, 3);
  return values;
}

/// All tensors of a checkpoint of fp32.
inline Values read_values(const std::string& directory) {
  const Manifest manifest = read_manifest(directory);
  Values values;
  std::vector<WantedPiece> wanted;
  for (const StoredTensor& t : manifest.tensors) {
    auto& x = values[t.name];
    x.resize(static_cast<std::size_t>(t.shape.elements()), -1.0f);
    wanted.push_back({t.name, {{}, t.shape}, x.data(), t.dtype, t.shape});
  }
  read_pieces(directory, manifest, wanted);
  return values;
}

/// To the bit, which tells zeros and NaNs apart.
inline bool same_bits(const Values& a, const Values& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, x] : a) {
    const auto other = b.find(name);
    if (other == b.end() || !octet::test::same_bits(x, other->second)) return false;
  }
  return true;
}

}  // namespace octet::checkpoint::test

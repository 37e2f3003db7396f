#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"
#include "src/model/config.h"

namespace octet {

/// What a block makes in forward and reads in backward, in the order in which forward makes it, under the names that
/// `recompute.keep` knows. The block's input, the residual stream, is not among them: it is always kept. The factors
/// of the norms (one fp32 a token) go with the norms' outputs, the log-sum-exp with the attention output.
enum class Activation : std::uint8_t {
  attention_input,  ///< normed input of q, k, v
  q,                ///< after RoPE, as k
  k,
  v,
  attention_output,
  attention_cast,  ///< fp8 copy of the attention output, which wo reads; only where wo is fp8
  residual,        ///< residual stream between attention and ffn
  ffn_input,       ///< normed input of w1 and w3
  gate,            ///< output of w1
  up,              ///< output of w3
  ffn_product,     ///< silu(gate) · up
  count
};

constexpr auto names_of(Activation) {
  return std::to_array<std::string_view>({"attention_input", "q", "k", "v", "attention_output", "attention_cast",
                                          "residual", "ffn_input", "gate", "up", "ffn_product"});
}

class ActivationSet {
 public:
  constexpr ActivationSet(std::initializer_list<Activation> list = {}) {
    for (const Activation a : list) add(a);
  }
  static constexpr ActivationSet all() { return ~ActivationSet(); }

  constexpr void add(Activation a) { bits_ |= bit(a); }
  constexpr bool has(Activation a) const { return (bits_ & bit(a)) != 0; }
  constexpr bool has_any(const ActivationSet& of) const { return (bits_ & of.bits_) != 0; }
  constexpr ActivationSet operator~() const {
    ActivationSet rest;
    rest.bits_ = ~bits_ & (bit(Activation::count) - 1);
    return rest;
  }
  bool operator==(const ActivationSet&) const = default;

 private:
  static constexpr unsigned bit(Activation a) { return 1u << static_cast<unsigned>(a); }
  unsigned bits_ = 0;
};

enum class RecomputeMode : std::uint8_t { none, full, selective };
constexpr auto names_of(RecomputeMode) {
  return std::to_array<std::string_view>({"none", "full", "selective"});
}
enum class RecomputePreset : std::uint8_t { none, elementwise, ffn, linears };
constexpr auto names_of(RecomputePreset) {
  return std::to_array<std::string_view>({"none", "elementwise", "ffn", "linears"});
}

/// Section `recompute` of the configuration.
struct RecomputeConfig {
  RecomputeMode mode = RecomputeMode::none;
  RecomputePreset preset = RecomputePreset::none;  ///< with selective and without `keep`
  std::vector<std::string> keep{};                 ///< with selective: names of Activation
  std::int64_t every = 1;  ///< the N-th, 2N-th, ... block recomputes; the others keep everything
};

/// What blocks keep from forward to backward; the rest is made again, the same bits, in memory that they share.
///
/// Every linear saves about 2 · dim FLOPs a byte of its output when it is kept, attention 2 · seq_len and more, what
/// is elementwise nearly none. Hence the presets, each of which drops more than the one before:
///   elementwise   outputs of the norms, SwiGLU's product, the cast for wo: no GEMM runs again;
///   ffn           also gate and up, more than half of a block's bytes;
///   linears       everything but the attention output.
struct RecomputePolicy {
  ActivationSet kept = ActivationSet::all();
  std::int64_t every = 1;
  std::int64_t layers = 0;

  /// Usage error for the name of no activation, and for selective without preset and keep.
  static RecomputePolicy of(const RecomputeConfig& config, std::int64_t layers);

  bool applies(std::int64_t layer) const { return kept != ActivationSet::all() && (layer + 1) % every == 0; }
  /// Says whether the block recomputes before its backward. The last of these blocks need not: nothing has overwritten
  /// the shared memory since its forward.
  bool again(std::int64_t layer) const { return applies(layer) && layer + every < layers; }
  std::int64_t blocks_again() const;
};

}  // namespace octet

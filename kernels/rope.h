#pragma once

#include <cstdint>

#include "kernels/stats.h"

namespace octet {

/// A tensor of heads that are rotated.
struct RopeHeads {
  void* x = nullptr;  ///< [batch, seq, count, head_dim]; null: there is nothing to rotate, and stats are left alone
  std::int64_t count = 0;
  StatsOut stats;  ///< of the result
  /// The result in fp8, which is then written in place of x: x is only read. The transposed form is [count · head_dim,
  /// batch · seq].
  Float8Out float8{};

  bool operator==(const RopeHeads&) const = default;
};

/// Rotary position embedding in place, half-split (Hugging Face): elements i and i + head_dim/2 of a head are a pair,
/// rotated by position · theta^(-2i/head_dim); `inverse` rotates back (backward). Queries and keys in one pass, which
/// reads and writes both once and reads the tables once.
struct Rope {
  RopeHeads q{};
  RopeHeads k{};
  DType dtype = DType::bf16;  ///< f32 or bf16
  std::int64_t batch = 0;
  std::int64_t seq = 0;
  std::int64_t head_dim = 0;
  const float* cos = nullptr;  ///< [positions, head_dim / 2]: a row for each position that occurs
  const float* sin = nullptr;  ///< the same
  bool inverse = false;
  /// [batch, seq], on the device: where in its row the document of a token begins; its position is counted from there.
  /// It may be before the row, as where a text is made token by token: positions are then above seq. Null: a row is one
  /// document, and positions are below seq.
  const std::int32_t* document_begin = nullptr;

  /// The heads of q and k together, as far as they are there.
  constexpr std::int64_t heads() const { return (q.x == nullptr ? 0 : q.count) + (k.x == nullptr ? 0 : k.count); }

  std::int64_t bytes_moved() const {
    const auto heads = [&](const RopeHeads& of) {
      const std::int64_t written = of.float8.wanted() ? of.float8.forms() : size_of(dtype);
      return of.x == nullptr ? 0 : of.count * (size_of(dtype) + written);
    };
    return batch * seq * head_dim * (heads(q) + heads(k)) + seq * head_dim * 4;
  }
  bool operator==(const Rope&) const = default;
};

}  // namespace octet

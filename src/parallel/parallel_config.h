#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// Whether gathered weights are freed after forward and gathered again in backward (always), or stay until the
/// optimizer step (never). automatic: never for dp_shard = 1, else always.
enum class Reshard : std::uint8_t { automatic, always, never };
constexpr auto names_of(Reshard) {
  return std::to_array<std::string_view>({"auto", "always", "never"});
}

/// The form in which unreduced gradients travel between the ranks of a shard group; their sums are fp32.
enum class GradientWire : std::uint8_t { fp32, bf16 };
constexpr auto names_of(GradientWire) {
  return std::to_array<std::string_view>({"fp32", "bf16"});
}

/// The order in which the ranks of a pipeline do their passes. one_f_one_b: PipeDream-Flush. interleaved: the same over
/// several stages a rank (Megatron-LM, arXiv:2104.04473, section 2.2). zb_h1: gradients of inputs and of weights apart,
/// the latter where a rank would wait (Zero Bubble Pipeline Parallelism, arXiv:2401.10241, section 2).
enum class PipelineOrder : std::uint8_t { one_f_one_b, interleaved, zb_h1 };
constexpr auto names_of(PipelineOrder) {
  return std::to_array<std::string_view>({"1f1b", "interleaved", "zb-h1"});
}

/// The mesh, outermost dimension first: pp, dp_replicate, dp_shard, cp, tp.
struct ParallelConfig {
  std::int64_t dp_replicate = 1;
  std::int64_t dp_shard = 0;  ///< 0: all ranks that the other dimensions leave
  std::int64_t tp = 1;
  bool async_tp = false;          ///< parts of a gather or sum travel beside the GEMMs
  bool tp_keep_gathered = false;  ///< gathered inputs of linears stay until backward
  std::int64_t cp = 1;
  std::int64_t pp = 1;
  PipelineOrder pp_schedule = PipelineOrder::one_f_one_b;
  std::int64_t pp_chunks = 1;      ///< stages a rank
  std::string pp_layout = "auto";  ///< or the blocks of each stage, from the first on: "7, 8, 8, 7"
  Reshard reshard_after_forward = Reshard::automatic;
  GradientWire gradient_wire = GradientWire::fp32;
  /// Gathers and reductions on streams of their own, beside the model's work. automatic: on a GPU with several shards.
  AutoBool overlap = AutoBool::automatic;
  /// A shard group of one rank gathers and reduces too, to measure on one GPU what several do.
  bool one_rank_exchange = false;
  std::int64_t check_replicas_every = 100;  ///< steps; 0: off. For master weights that ranks have in common.

  /// Whether gathered weights are freed after forward and gathered again, with so many shards.
  bool frees_weights(std::int64_t shards) const {
    if (reshard_after_forward != Reshard::automatic) return reshard_after_forward == Reshard::always;
    return shards > 1 || one_rank_exchange;
  }
};

}  // namespace octet

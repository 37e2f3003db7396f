#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// What the ranks of a shard group keep whole beside their pieces of masters and moments, as ZeRO counts it. 3:
/// nothing, weights are gathered and let go around each use. 2: the weights of a step. 1: the weights of a step and its
/// gradients. automatic: 2 for dp_shard = 1, where nothing is gathered, and in a pipeline; else 3.
enum class Zero : std::uint8_t { automatic, one, two, three };
constexpr auto names_of(Zero) {
  return std::to_array<std::string_view>({"auto", "1", "2", "3"});
}

/// The form of unreduced gradients.
enum class GradientForm : std::uint8_t { fp32, bf16 };
constexpr auto names_of(GradientForm) {
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
  Zero zero = Zero::automatic;
  /// The form in which Zero::one keeps the gradients of the micro-batches before the last.
  GradientForm whole_gradients = GradientForm::fp32;
  /// The form in which gradients travel between the ranks of a shard group, and in which a GEMM leaves those that it
  /// alone writes. Their sums are fp32.
  GradientForm gradient_wire = GradientForm::fp32;
  /// Gathers and reductions on streams of their own, beside the model's work. automatic: on a GPU with several shards.
  AutoBool overlap = AutoBool::automatic;
  /// A shard group of one rank gathers and reduces too, to measure on one GPU what several do.
  bool one_rank_exchange = false;
  std::int64_t check_replicas_every = 100;  ///< steps; 0: off. For master weights that ranks have in common.

  /// What `zero` is, with so many shards.
  Zero zero_with(std::int64_t shards) const {
    if (zero != Zero::automatic) return zero;
    if (pp > 1) return Zero::two;  // or every micro-batch would gather the stages again
    return shards > 1 || one_rank_exchange ? Zero::three : Zero::two;
  }
};

}  // namespace octet

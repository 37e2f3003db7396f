#include "kernels/cpu/gemm/gemm_plan.h"

#include <algorithm>

#include "kernels/cpu/gemm/gemm_input.h"
#include "src/base/round_up.h"

namespace octet::cpu {
namespace {

/// Bytes of widened operands and fp32 sums that are alive at a time: they should still be in a shared cache when they
/// are read.
constexpr std::int64_t most_chunk_bytes = 16 << 20;
/// Of B alone, which may be larger: it is widened once and read by every chunk of rows.
constexpr std::int64_t most_b_bytes = 64 << 20;

/// `wanted` rows in whole panels of 64, at least 256, at most all.
std::int64_t clamp_chunk(std::int64_t wanted, std::int64_t all) {
  return std::clamp<std::int64_t>(wanted / 64 * 64, std::min<std::int64_t>(256, all), all);
}

/// Whether something is left to do to the sums that oneDNN does not do as it writes C.
bool needs_sums_apart(const Gemm& args, const GemmPlan& plan) {
  const bool rounds = args.c_dtype != DType::f32;
  if (plan.scales_along_k && !plan.hopper) return rounds;  // the values that were multiplied were scaled already
  if (args.a.scales == ScaleForm::each || args.b.scales == ScaleForm::each) return true;
  // oneDNN's bf16 primitive scales and rounds by itself.
  return plan.input == DType::f32 && (rounds || is_float8(args.a.dtype));
}

/// What is multiplied by what.
void choose_arithmetic(const Gemm& args, GemmPlan& plan) {
  const bool narrow = args.a.dtype != DType::f32;
  plan.hopper = args.emulate_hopper && is_float8(args.a.dtype);
  plan.scales_along_k = along_contraction(args.a.scales);
  // A code times its scale has more bits than bf16.
  const bool fits_bf16 = narrow && !plan.hopper && !plan.scales_along_k;
  plan.input = fits_bf16 && gemm_input() == GemmInput::bf16 ? DType::bf16 : DType::f32;
  plan.a_form = plan.hopper ? args.a.dtype : plan.input;
  plan.b_form = plan.hopper ? args.b.dtype : plan.input;
  plan.widen_a = args.a.dtype != plan.a_form;
  plan.widen_b = args.b.dtype != plan.b_form;
  plan.sums_apart = needs_sums_apart(args, plan);
}

/// Chunks are as large as the workspace may be; a product that needs no workspace is one chunk.
void choose_chunks(const Gemm& args, GemmPlan& plan) {
  plan.chunk_m = args.m;
  plan.chunk_n = args.n;
  plan.chunk_k = args.k;
  const std::int64_t sum = size_of(DType::f32), wide = size_of(plan.input);
  if (plan.hopper) {
    plan.chunk_m = clamp_chunk(most_chunk_bytes / (sum * args.n), args.m);
    if (plan.scales_along_k) plan.chunk_k = scale_block;
    return;
  }
  if (!plan.widen_a && !plan.widen_b && !plan.sums_apart) return;
  const bool long_sum = args.k > std::max(args.m, args.n) && plan.input == DType::f32;  // weight gradients
  if (long_sum) {
    plan.chunk_k = clamp_chunk(most_chunk_bytes / (wide * (args.m + args.n)), args.k);
    return;
  }
  if (plan.widen_b) plan.chunk_n = clamp_chunk(most_b_bytes / (wide * args.k), args.n);
  plan.chunk_m = clamp_chunk(most_chunk_bytes / (wide * args.k + sum * plan.chunk_n), args.m);
}

void measure_workspace(GemmPlan& plan) {
  const std::int64_t sum = size_of(DType::f32), wide = size_of(plan.input);
  if (plan.widen_a) plan.a_bytes = round_up(plan.chunk_m * plan.chunk_k * wide, gemm_workspace_alignment);
  if (plan.widen_b) plan.b_bytes = round_up(plan.chunk_k * plan.chunk_n * wide, gemm_workspace_alignment);
  if (plan.sums_apart) plan.sums_bytes = round_up(plan.chunk_m * plan.chunk_n * sum, gemm_workspace_alignment);
  if (plan.hopper && plan.scales_along_k) plan.block_sums_bytes = plan.sums_bytes;
}

}  // namespace

GemmPlan plan_of(const Gemm& args) {
  GemmPlan plan;
  choose_arithmetic(args, plan);
  choose_chunks(args, plan);
  measure_workspace(plan);
  return plan;
}

}  // namespace octet::cpu

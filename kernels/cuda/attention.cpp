#include "kernels/attention.h"

#include <array>

#include "kernels/cuda/attention_fallback.h"
#include "kernels/cuda/attention_plan.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/settings.h"

/// cuDNN's kernels where it has a plan, our own where it has not. Bytes that must move, at least: forward reads q, k, v
/// and writes o and log_sum_exp; backward reads those five and d_o and writes dq, dk and dv. Both are bound by
/// arithmetic from a sequence of some hundreds on: 4 · batch · heads · seq² · head_dim operations forward, 2.5 times as
/// many backward, half of them masked.
namespace octet::cuda {
namespace {

const AttentionPlan* plan_of(const AttentionShape& shape, AttentionPass pass, Stream* stream = nullptr) {
  // Never destroyed: the driver may be gone before static objects are.
  static auto& plans = *new AttentionPlans;
  return plans.find({shape, pass, settings().deterministic}, stream).plan.get();
}

/// cuDNN's operands are not const; it writes to the outputs alone.
void* operand(const void* pointer) {
  return const_cast<void*>(pointer);
}

}  // namespace

std::int64_t attention_forward_workspace(const AttentionForward& args) {
  const AttentionPlan* plan = plan_of(args.shape, AttentionPass::forward);
  return plan == nullptr ? 0 : plan->workspace();
}

void attention_forward(Stream& stream, const AttentionForward& args) {
  check_attention_addresses(args);
  const AttentionPlan* plan = plan_of(args.shape, AttentionPass::forward, &stream);
  if (plan == nullptr) return fallback_attention_forward(stream, args);
  const std::array operands{operand(args.q), operand(args.k), operand(args.v), args.o, operand(args.log_sum_exp)};
  plan->execute(native(stream), operands, args.workspace);
}

/// In deterministic mode cuDNN's backward keeps the gradients of all scores, 2 · batch · heads · seq² bytes and more.
/// From cuDNN 9.25 on, CUDNN_FRONTEND_ATTN_DP_WORKSPACE_LIMIT=0 in the environment asks for a slower one without them.
std::int64_t attention_backward_workspace(const AttentionBackward& args) {
  const AttentionPlan* plan = plan_of(args.shape, AttentionPass::backward);
  return plan == nullptr ? fallback_attention_backward_workspace(args.shape) : plan->workspace();
}

void attention_backward(Stream& stream, const AttentionBackward& args) {
  check_attention_addresses(args);
  const AttentionPlan* plan = plan_of(args.shape, AttentionPass::backward, &stream);
  if (plan == nullptr) return fallback_attention_backward(stream, args);
  const std::array operands{operand(args.q), operand(args.k),   operand(args.v),
                            operand(args.o), operand(args.d_o), operand(args.log_sum_exp),
                            args.dq,         args.dk,           args.dv};
  plan->execute(native(stream), operands, args.workspace);
}

}  // namespace octet::cuda

#include "kernels/attention.h"

#include <algorithm>
#include <mutex>

#include "kernels/cuda/attention_fallback.h"
#include "kernels/cuda/attention_plan.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/settings.h"
#include "src/base/log.h"

/// cuDNN's kernels where it has a plan, our own where it has not. Bytes that must move, at least: forward reads q, k, v
/// and writes o and log_sum_exp; backward reads those five and d_o and writes dq, dk and dv. Both are bound by
/// arithmetic from a sequence of some hundreds on: 4 · batch · heads · seq² · head_dim operations forward, 2.5 times as
/// many backward, half of them masked.
namespace octet::cuda {
namespace {

const AttentionPlan* plan_of(const AttentionShape& shape, AttentionPass pass, Stream& stream) {
  return device_attention_plans().find({shape, pass, settings().deterministic}, &stream).plan.get();
}

/// Bytes, the same whatever plan is chosen later.
std::int64_t workspace(const AttentionPlanKey& key, std::int64_t fallback) {
  if (!why_no_attention_plan(key).empty()) return fallback;
  const std::int64_t bound = attention_workspace_bound(key);
  static const bool no_device = !why_no_cuda().empty();
  if (no_device) return bound;  // of a plan, which cuDNN has for nearly everything
  const AttentionPlan* plan = device_attention_plans().find(key).plan.get();
  if (plan == nullptr) return fallback;
  return key.deterministic ? plan->workspace() : std::max(plan->workspace(), bound);
}

void tell_of_documents() {
  static std::once_flag told;
  std::call_once(told, [] {
    log::shared_warning(
        "attention within documents (data.document_mask): Octet's own kernels serve for rows of several documents; "
        "they "
        "are not on the tensor cores, so attention takes many times as long as without (docs/data.md, \"Documents\")");
  });
}

}  // namespace

std::int64_t attention_forward_workspace(const AttentionForward& args) {
  if (args.document_begin != nullptr) return 0;
  return workspace({args.shape, AttentionPass::forward, false}, 0);
}

void attention_forward(Stream& stream, const AttentionForward& args) {
  check_attention_addresses(args);
  if (args.document_begin != nullptr) {
    tell_of_documents();
    return fallback_attention_forward(stream, args);
  }
  const AttentionPlan* plan = plan_of(args.shape, AttentionPass::forward, stream);
  if (plan == nullptr) return fallback_attention_forward(stream, args);
  plan->execute(native(stream), operands_of(args), args.workspace);
}

std::int64_t attention_backward_workspace(const AttentionBackward& args) {
  if (args.document_begin != nullptr) return fallback_attention_backward_workspace(args.shape);
  return workspace({args.shape, AttentionPass::backward, settings().deterministic},
                   fallback_attention_backward_workspace(args.shape));
}

void attention_backward(Stream& stream, const AttentionBackward& args) {
  check_attention_addresses(args);
  if (args.document_begin != nullptr) return fallback_attention_backward(stream, args);
  const AttentionPlan* plan = plan_of(args.shape, AttentionPass::backward, stream);
  if (plan == nullptr) return fallback_attention_backward(stream, args);
  plan->execute(native(stream), operands_of(args), args.workspace);
}

}  // namespace octet::cuda

#include "kernels/attention.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/attention/attention_fallback.h"
#include "kernels/cuda/attention/attention_plan.h"
#include "kernels/cuda/attention/document_offsets.h"
#include "kernels/cuda/attention/document_plans.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/host/launch.h"
#include "kernels/cuda/host/settings.h"
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

/// Once for each reason.
void tell_of_documents(const std::string& reason) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::scoped_lock lock(mutex);
  if (!told.insert(reason).second) return;
  log::shared_warning(
      "attention within documents: Octet's own kernels serve for rows that hold several ({}); they are not on the "
      "tensor "
      "cores, so attention takes many times as long (docs/data.md, \"Documents\")",
      reason);
}

/// By cuDNN, if it can; the offsets come before its workspace.
template <typename Args, typename Fallback>
void run_documents(Stream& stream, const Args& args, AttentionPass pass, const Fallback& fallback) {
  if (args.documents.starts == nullptr) return fallback(stream, args);  // there is no list to give to cuDNN
  const auto [plan, why_not] = document_plan(device_attention_plans(), {args.shape, pass}, args.documents.places,
                                             args.documents.longest, &stream);
  if (plan == nullptr) {
    tell_of_documents(why_not);
    return fallback(stream, args);
  }
  const DocumentOffsets offsets(args.workspace, args.shape, args.documents);
  offsets.make(stream);
  std::vector<void*> operands;
  for (void* operand : operands_of(args)) operands.push_back(operand);
  for (void* operand : offsets.operands()) operands.push_back(operand);
  plan->execute(native(stream), operands,
                static_cast<char*>(args.workspace) + DocumentOffsets::bytes(args.documents.places));
}

/// Bytes for as many documents as a plan is made for, or for our own kernels.
std::int64_t document_workspace(const AttentionProblem& problem, std::int64_t fallback) {
  if (!documents_by_cudnn() || !why_no_attention_plan({problem.shape, problem.pass, false, 1, 1}).empty())
    return fallback;
  return std::max(
      fallback, DocumentOffsets::bytes(most_document_places) + document_workspace_bound(problem, most_document_places));
}

}  // namespace

std::int64_t attention_forward_workspace(const AttentionForward& args) {
  if (args.documents.begin != nullptr) return document_workspace({args.shape, AttentionPass::forward}, 0);
  return workspace({args.shape, AttentionPass::forward, false}, 0);
}

void attention_forward(Stream& stream, const AttentionForward& args) {
  check_operands(args);
  if (args.documents.begin != nullptr) {
    return run_documents(stream, args, AttentionPass::forward, fallback_attention_forward);
  }
  const AttentionPlan* plan = plan_of(args.shape, AttentionPass::forward, stream);
  if (plan == nullptr) return fallback_attention_forward(stream, args);
  plan->execute(native(stream), operands_of(args), args.workspace);
}

std::int64_t attention_backward_workspace(const AttentionBackward& args) {
  if (args.documents.begin != nullptr) {
    return document_workspace({args.shape, AttentionPass::backward}, fallback_attention_backward_workspace(args.shape));
  }
  return workspace({args.shape, AttentionPass::backward, settings().deterministic},
                   fallback_attention_backward_workspace(args.shape));
}

void attention_backward(Stream& stream, const AttentionBackward& args) {
  check_operands(args);
  if (args.documents.begin != nullptr) {
    return run_documents(stream, args, AttentionPass::backward, fallback_attention_backward);
  }
  const AttentionPlan* plan = plan_of(args.shape, AttentionPass::backward, stream);
  if (plan == nullptr) return fallback_attention_backward(stream, args);
  plan->execute(native(stream), operands_of(args), args.workspace);
}

}  // namespace octet::cuda

#include "kernels/cuda/attention_plan.h"

#include <tuple>
#include <utility>

#include "kernels/cuda/capture.h"
#include "src/base/log.h"

namespace octet::cuda {
namespace {

auto tie(const AttentionPlanKey& key) {
  const AttentionShape& s = key.shape;
  return std::tie(s.batch, s.seq, s.heads, s.kv_heads, s.head_dim, s.scale, s.dtype, key.pass, key.deterministic);
}

std::string describe(const AttentionPlanKey& key) {
  const AttentionShape& s = key.shape;
  return fmt::format("{} of batch {}, sequence {}, heads {}/{}, head dimension {}{}",
                     key.pass == AttentionPass::forward ? "forward" : "backward", s.batch, s.seq, s.heads, s.kv_heads,
                     s.head_dim, key.deterministic ? ", deterministic" : "");
}

}  // namespace

bool operator<(const AttentionPlanKey& a, const AttentionPlanKey& b) {
  return tie(a) < tie(b);
}

const AttentionPlanResult& AttentionPlans::find(AttentionPlanKey key, Stream* stream) {
  if (key.pass == AttentionPass::forward) key.deterministic = false;
  const std::scoped_lock lock(mutex_);
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  if (stream != nullptr) refuse_capture(*stream, "building a plan for attention");

  AttentionPlanResult result;
  const AttentionShape& s = key.shape;
  if (s.dtype != DType::bf16) {
    result.why_not = fmt::format("{} is not among its types", name_of(s.dtype));
  } else if (key.pass == AttentionPass::backward && s.batch * s.heads * s.seq % 4 != 0) {
    // cudnn-frontend puts its own batch · heads · seq floats before cuDNN's part of the workspace, unpadded.
    result.why_not = "batch x heads x sequence is not a multiple of 4, so its workspace would not be aligned";
  } else {
    result = make_attention_plan(key, device_.get());
  }
  if (result.plan == nullptr && said_.insert(result.why_not).second) {
    log::shared_warning(
        "attention {}: cuDNN has no plan ({}); Octet's own kernel takes its place: correct, but not on the tensor "
        "cores, so attention takes many times as long",
        describe(key), result.why_not);
  }
  return plans_.emplace(key, std::move(result)).first->second;
}

}  // namespace octet::cuda

#include "kernels/attention_timing.h"

#include "src/base/error.h"

namespace octet {
namespace {

Error no_cuda() {
  return internal_error("kernels", "attention is timed in a build that has no CUDA kernels");
}

}  // namespace

PlanPlatform attention_platform(Stream&) {
  throw no_cuda();
}

bool has_attention_plan(Stream&, const AttentionProblem&) {
  throw no_cuda();
}

std::string why_no_document_plan(Stream&, const AttentionProblem&, std::int64_t, std::int64_t) {
  throw no_cuda();
}

PlanChoices time_attention(Stream&, std::span<const AttentionProblem>) {
  throw no_cuda();
}

void use_attention_choices(const PlanChoices&) {
  throw no_cuda();
}

}  // namespace octet

// What stands for the CUDA backend in a build without it: settings and a table that are refused, and timing that nobody
// asks for.
#include "kernels/attention_timing.h"
#include "kernels/cuda_settings.h"
#include "kernels/gemm_timing.h"
#include "kernels/table.h"
#include "src/base/error.h"

namespace octet {
namespace {

Error no_timing(const char* what) {
  return internal_error("kernels", "{} timed in a build that has no CUDA kernels", what);
}

}  // namespace

void set_cuda_settings(const CudaSettings& settings) {
  if (settings == CudaSettings{}) return;
  throw usage_error("kernels", "this build has no CUDA kernels, so settings of them have no effect; leave them out");
}

const KernelTable& cuda_kernels() {
  throw usage_error("kernels", "this build has no CUDA kernels; use --device cpu");
}

AlgorithmPlatform attention_platform(Stream&) {
  throw no_timing("attention is");
}

bool has_attention_plan(Stream&, const AttentionProblem&) {
  throw no_timing("attention is");
}

std::string why_no_document_plan(Stream&, const AttentionProblem&, std::int64_t, std::int64_t) {
  throw no_timing("attention is");
}

AlgorithmChoices time_attention(Stream&, std::span<const AttentionProblem>) {
  throw no_timing("attention is");
}

void use_attention_choices(const AlgorithmChoices&) {
  throw no_timing("attention is");
}

AlgorithmPlatform gemm_platform(Stream&) {
  throw no_timing("GEMMs are");
}

std::string library_versions(Stream&) {
  throw no_timing("GEMMs are");
}

std::vector<Gemm> library_products(Stream&, const Gemm&) {
  throw no_timing("GEMMs are");
}

std::string gemm_problem(const Gemm&) {
  throw no_timing("GEMMs are");
}

AlgorithmChoices time_gemms(Stream&, std::span<const Gemm>) {
  throw no_timing("GEMMs are");
}

void use_gemm_choices(const AlgorithmChoices&) {
  throw no_timing("GEMMs are");
}

}  // namespace octet

#include "kernels/gemm_timing.h"

#include "src/base/error.h"

namespace octet {
namespace {

Error no_cuda() {
  return internal_error("kernels", "GEMMs are timed in a build that has no CUDA kernels");
}

}  // namespace

PlanPlatform gemm_platform(Stream&) {
  throw no_cuda();
}

std::string library_versions(Stream&) {
  throw no_cuda();
}

std::vector<Gemm> library_products(Stream&, const Gemm&) {
  throw no_cuda();
}

std::string gemm_problem(const Gemm&) {
  throw no_cuda();
}

PlanChoices time_gemms(Stream&, std::span<const Gemm>) {
  throw no_cuda();
}

void use_gemm_choices(const PlanChoices&) {
  throw no_cuda();
}

}  // namespace octet

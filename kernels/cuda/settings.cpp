#include "kernels/cuda/settings.h"

#include <filesystem>

#include "kernels/gemm_timing.h"
#include "src/base/error.h"

namespace octet {
namespace {

CudaSettings current;
PlanChoices choices;
int version = 0;

void check_settings(const CudaSettings& s) {
  if (s.deterministic && s.gemm == CudaPlanChoice::timed) {
    throw usage_error("kernels",
                      "cuda.gemm: timed chooses anew in every run, which is not deterministic; use heuristic, with "
                      "cuda.gemm_plans to replay choices timed before");
  }
  if (s.deterministic && s.attention == CudaPlanChoice::timed) {
    throw usage_error("kernels",
                      "cuda.attention: timed chooses anew in every run, which is not deterministic; use heuristic");
  }
  if (s.gemm_plans.empty()) return;
  if (std::filesystem::exists(s.gemm_plans)) {
    read_plan_choices(PlanKind::gemm, s.gemm_plans);  // a file that cannot be read is refused now
  } else if (!s.may_time_gemms()) {
    throw usage_error("kernels", "cuda.gemm_plans: {} does not exist; a run with cuda.gemm: timed writes it",
                      s.gemm_plans);
  }
}

}  // namespace

void set_cuda_settings(const CudaSettings& settings) {
  check_settings(settings);
  current = settings;
  ++version;
}

void use_gemm_choices(const PlanChoices& other) {
  choices = other;
  ++version;
}

const PlanChoices& cuda::gemm_choices() {
  return choices;
}

const CudaSettings& cuda::settings() {
  return current;
}

int cuda::settings_version() {
  return version;
}

}  // namespace octet

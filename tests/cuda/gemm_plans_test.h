#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/gemm/gemm_plans.h"
#include "tests/cuda/fake_cublas_lt.h"
#include "tests/cuda/gemm_arguments.h"

namespace octet::cuda_test {

using octet::cuda::GemmPlan;
using octet::cuda::GemmPlans;
using octet::cuda::GemmTimer;

struct GemmPlansTest : testing::Test {
  FakeLibrary& fake = FakeLibrary::get();
  std::vector<std::size_t> timed;  ///< how many plans each timing was of
  std::vector<double> times;       ///< what the timer answers

  void SetUp() override { fake = {}; }

  AlgorithmPlatform platform(const std::string& device = "NVIDIA H100 80GB HBM3") const {
    return {AlgorithmKind::gemm, fake.version, device};
  }
  GemmPlans plans(const CudaSettings& settings = {}, const std::string& device = "NVIDIA H100 80GB HBM3") {
    return GemmPlans(fake_cublas_lt(), nullptr, platform(device), settings, {});
  }
  GemmPlans replaying(const AlgorithmChoices& choices, const CudaSettings& settings = {}) {
    return GemmPlans(fake_cublas_lt(), nullptr, platform(), settings, choices);
  }
  GemmTimer timer() {
    return [this](std::span<const GemmPlan> p) {
      timed.push_back(p.size());
      return times;
    };
  }
  /// What is written of a timing of that product, of which the second of two proposals is the faster.
  AlgorithmChoices chosen(const Gemm& args, std::uint32_t scheme = 0) {
    fake.proposals = {{.id = 1}, {.id = 2, .scheme = scheme}};
    times = {10.0, 5.0};
    return {.platform = platform(),
            .by_problem = {{octet::cuda::describe(args).text(), plans().time(args, timer()).value()}}};
  }
  std::uint64_t preferred(cublasLtMatmulPreferenceAttributes_t a) {
    return FakeLibrary::at(fake.heuristics.back().preference, a);
  }
  std::uint64_t described(cublasLtMatmulDescAttributes_t a) {
    return FakeLibrary::at(fake.heuristics.back().operation, a);
  }
};

}  // namespace octet::cuda_test

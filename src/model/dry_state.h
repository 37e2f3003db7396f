#pragma once

#include <span>
#include <vector>

#include "src/tensor/gradient_sink.h"
#include "src/tensor/parameter.h"
#include "src/tensor/weight_provider.h"

namespace octet {

/// Weights without memory, for a dry pass.
class DryWeights final : public WeightProvider {
 public:
  explicit DryWeights(const ParameterList& list) : list_(list) {}
  void begin_pass(std::span<const int>) override {}
  std::span<const Tensor> gather(int unit) override {
    unit_.clear();
    const auto [first, last] = list_.range(unit);
    for (std::size_t i = first; i < last; ++i) {
      unit_.push_back({nullptr, list_.parameters[i].gathered, list_.parameters[i].shape, nullptr});
    }
    return unit_;
  }
  void release(int) override {}

 private:
  const ParameterList& list_;
  std::vector<Tensor> unit_;
};

/// Gradients without memory, for a dry pass.
class DryGradients final : public GradientSink {
 public:
  /// `gemm_dtype`: dtype of the targets that one GEMM writes whole, which bears on the scratch of a GEMM.
  DryGradients(const ParameterList& list, DType gemm_dtype) : list_(list), gemm_dtype_(gemm_dtype) {}
  std::span<const GradientTarget> open(int unit) override {
    auto& targets = units_.emplace_back();
    const auto [first, last] = list_.range(unit);
    for (std::size_t i = first; i < last; ++i) {
      const ParameterSpec& p = list_.parameters[i];
      targets.push_back({{nullptr, p.one_gemm_gradient ? gemm_dtype_ : DType::f32, p.shape, nullptr}, false});
    }
    return targets;
  }
  void close(int) override {}

 private:
  const ParameterList& list_;
  DType gemm_dtype_;
  std::vector<std::vector<GradientTarget>> units_;
};

}  // namespace octet

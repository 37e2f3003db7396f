// Gradients of a small model: against finite differences in fp32, and of the lower precisions against fp32.
#include <gtest/gtest.h>

#include "tests/model/local_state.h"

namespace octet {
namespace {

using test::LocalModel;

/// Change of the loss along `direction` (of parameter i), by central differences.
double slope(LocalModel& model, std::size_t i, const std::vector<double>& direction, double step) {
  const std::vector<float> kept = model.state.masters[i];
  const auto loss_at = [&](double t) {
    for (std::size_t e = 0; e < kept.size(); ++e) {
      model.state.masters[i][e] = static_cast<float>(double{kept[e]} + t * direction[e]);
    }
    return model.evaluate();
  };
  const double difference = loss_at(step) - loss_at(-step);
  model.state.masters[i] = kept;
  return difference / (2 * step);
}

/// Along its own gradient, a tensor's slope is the gradient's norm. The fp32 loss (about 4, 2e-7 relative) limits the
/// differences to about 5e-5 of a slope; the slopes lie between 0.02 and 2.
TEST(Gradients, EqualFiniteDifferencesAlongEveryTensor) {
  for (const auto& [tied, documents] : {std::pair{false, false}, {true, false}, {false, true}}) {
    LocalModel model(Precision::fp32, tied);
    if (documents)
      model.document_begin = {0, 0, 0, 3, 4, 4, 4, 4, 4, 9, 9, 9, 9, 9, 9,  9,  // two rows
                              0, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 14, 15};
    model.forward_backward();
    const auto gradients = model.state.gradients;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      double norm = 0;
      for (const float g : gradients[i]) norm += double{g} * double{g};
      norm = std::sqrt(norm);
      std::vector<double> direction(gradients[i].begin(), gradients[i].end());
      for (double& d : direction) d /= norm;
      // Richardson: the error of the two slopes falls with step².
      const double coarse = slope(model, i, direction, 0.02), fine = slope(model, i, direction, 0.01);
      EXPECT_NEAR((4 * fine - coarse) / 3, norm, 1e-3 * norm + 5e-5) << model.llama.parameters().parameters[i].name;
    }
  }
}

/// Relative distances of all gradients of one precision to fp32's.
std::vector<std::pair<std::string, double>> distances(Precision precision) {
  LocalModel exact(Precision::fp32), rounded(precision);
  const double loss = exact.forward_backward(), loss_rounded = rounded.forward_backward();
  std::vector<std::pair<std::string, double>> all{{"loss", std::abs(loss_rounded / loss - 1)}};
  for (std::size_t i = 0; i < exact.state.gradients.size(); ++i) {
    all.emplace_back(exact.llama.parameters().parameters[i].name,
                     test::distance(rounded.state.gradients[i], exact.state.gradients[i]));
  }
  return all;
}

/// bf16 rounds a stored value by 2^-9/√3 = 1.1e-3 (root mean square), and a gradient here is the result of some 60 such
/// roundings in a row, forward and backward: 0.9 %. The softmax, which subtracts, makes it up to three times as much
/// for wq and wk.
constexpr double bf16_tolerance = 0.04;
/// fp8 GEMMs round their operands 16 (e4m3) and 32 times (e5m2) as much, but only 11 tensors a block: 3.6 % and 7.2 %
/// each, which is about 8 times the sum above.
constexpr double float8_tolerance = 0.32;

TEST(Gradients, OfBf16AreNearThoseOfFp32) {
  for (const auto& [name, d] : distances(Precision::bf16)) EXPECT_LT(d, bf16_tolerance) << name;
  EXPECT_LT(distances(Precision::bf16)[0].second, 1e-3);
}

TEST(Gradients, OfFloat8AreNearThoseOfFp32) {
  const auto float8 = distances(Precision::float8), bf16 = distances(Precision::bf16);
  EXPECT_LT(float8[0].second, 1e-2);
  for (std::size_t i = 1; i < float8.size(); ++i) {
    EXPECT_LT(float8[i].second, float8_tolerance) << float8[i].first;
    EXPECT_GT(float8[i].second, 4 * bf16[i].second) << float8[i].first << ": is it computed in float8?";
  }
}

}  // namespace
}  // namespace octet

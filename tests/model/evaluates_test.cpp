// Which GEMMs may take sums in another order than training: those of a model that is never trained, and no others.
#include <gtest/gtest.h>

#include "src/model/llama.h"
#include "tests/model/local_state.h"

namespace octet {
namespace {

int gemms = 0, evaluating = 0;  // kernels are plain functions

void counted_gemm(Stream& stream, const Gemm& args) {
  ++gemms;
  evaluating += args.evaluates ? 1 : 0;
  cpu_kernels().gemm(stream, args);
}

/// Of a forward pass.
void count(bool forward_only) {
  gemms = evaluating = 0;
  KernelTable kernels = cpu_kernels();
  kernels.gemm = counted_gemm;
  const LlamaSettings settings{.model = test::small_model(),
                               .precision = Precision::fp32,
                               .micro_batch = 1,
                               .seq_len = 8,
                               .forward_only = forward_only};
  const auto stream = cpu_device().make_stream();
  NoExchange exchange;
  Llama llama(settings, *stream, exchange, nullptr, Llama::plan(settings, *stream), kernels);
  test::LocalState state(llama.parameters());
  const std::vector<std::int32_t> tokens(8, 1);
  float loss = 0;
  llama.evaluate({tokens.data(), tokens.data(), 1.0f, &loss}, state);
}

TEST(EvaluatingGemms, AreAllOfAModelThatIsNeverTrained) {
  count(true);
  EXPECT_GT(gemms, 0);
  EXPECT_EQ(evaluating, gemms);
}

TEST(EvaluatingGemms, AreNoneWhereAModelIsTrainedAlsoWhenItIsValidated) {
  count(false);
  EXPECT_GT(gemms, 0);
  EXPECT_EQ(evaluating, 0);
}

}  // namespace
}  // namespace octet

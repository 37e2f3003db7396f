#include "kernels/cuda_settings.h"
#include "tests/gpu/gpu_test.h"
#include "tests/gpu/small_model.h"

namespace octet::gpu_test {
namespace {

struct Tolerance {
  Precision precision;
  double loss;
  double gradient;  ///< ‖gpu - cpu‖₂ / ‖cpu‖₂ of each parameter
};

/// For comparisons to the bit.
struct DeterministicKernels {
  DeterministicKernels() { set_cuda_settings({.deterministic = true}); }
  ~DeterministicKernels() { set_cuda_settings({}); }
};

class GpuStep : public GpuTest, public ::testing::WithParamInterface<Tolerance> {};

/// bf16 stores about 8 bits and the two tables round different sums; float8 rounds 3 or 2 bits, where a value at the
/// border of two codes goes either way.
INSTANTIATE_TEST_SUITE_P(Precisions, GpuStep,
                         ::testing::Values(Tolerance{Precision::fp32, 1e-5, 1e-4},
                                           Tolerance{Precision::bf16, 2e-3, 3e-2},
                                           Tolerance{Precision::float8, 5e-3, 1e-1}),
                         [](const auto& tested) { return std::string(name_of(tested.param.precision)); });

TEST_P(GpuStep, LossAndGradientsOfTheCpu) {
  const auto [precision, loss, gradient] = GetParam();
  SmallModel cpu_model(cpu_device(), precision), gpu_model(cuda_device(0), precision);
  cpu_model.forward_backward();
  gpu_model.forward_backward();
  EXPECT_NEAR(gpu_model.loss(), cpu_model.loss(), loss * cpu_model.loss());
  for (std::size_t i = 0; i < cpu_model.parameters().parameters.size(); ++i) {
    EXPECT_LE(distance(gpu_model.gradient(i), cpu_model.gradient(i)), gradient)
        << cpu_model.parameters().parameters[i].name;
  }
}

/// By cuDNN in 16 bits, by our own kernels in fp32; documents of one token, of a tile of attention and of more.
TEST_P(GpuStep, LossAndGradientsOfTheCpuWithinDocuments) {
  const auto [precision, loss, gradient] = GetParam();
  const std::vector<std::int64_t> documents = {5, 1, 99, 1, 22, 64, 64};
  SmallModel cpu_model(cpu_device(), precision, documents), gpu_model(cuda_device(0), precision, documents);
  SmallModel across(cpu_device(), precision);
  cpu_model.forward_backward();
  gpu_model.forward_backward();
  across.forward_backward();
  EXPECT_NE(across.loss(), cpu_model.loss());
  EXPECT_NEAR(gpu_model.loss(), cpu_model.loss(), loss * cpu_model.loss());
  for (std::size_t i = 0; i < cpu_model.parameters().parameters.size(); ++i) {
    EXPECT_LE(distance(gpu_model.gradient(i), cpu_model.gradient(i)), gradient)
        << cpu_model.parameters().parameters[i].name;
    EXPECT_GT(distance(across.gradient(i), cpu_model.gradient(i)), 0) << cpu_model.parameters().parameters[i].name;
  }
}

TEST_P(GpuStep, LossesOverTheStepsOfTheCpu) {
  const auto [precision, loss, gradient] = GetParam();
  SmallModel cpu_model(cpu_device(), precision), gpu_model(cuda_device(0), precision);
  for (std::int64_t step = 1; step <= 10; ++step) {
    cpu_model.forward_backward();
    gpu_model.forward_backward();
    EXPECT_NEAR(gpu_model.loss(), cpu_model.loss(), 3 * loss * cpu_model.loss()) << "step " << step;
    cpu_model.finish_step(step);
    gpu_model.finish_step(step);
  }
}

/// With the gradients of the blocks' linears in bf16 (not of fp32 operands): they are those in fp32, rounded, within
/// what another algorithm of the GEMM sums otherwise, and the norm and the optimizer read them. The kernels are
/// deterministic, so that nothing else tells the two models apart.
TEST_P(GpuStep, GradientsInBf16) {
  const auto [precision, loss, gradient] = GetParam();
  if (precision == Precision::fp32) GTEST_SKIP() << "a GEMM of fp32 leaves fp32";
  const DeterministicKernels deterministic;
  SmallModel cpu_model(cpu_device(), precision, {}, DType::bf16), gpu_model(cuda_device(0), precision, {}, DType::bf16);
  SmallModel wide(cuda_device(0), precision);
  for (std::int64_t step = 1; step <= 5; ++step) {
    for (SmallModel* model : {&cpu_model, &gpu_model, &wide}) model->forward_backward();
    EXPECT_NEAR(gpu_model.loss(), cpu_model.loss(), 3 * loss * cpu_model.loss()) << "step " << step;
    for (std::size_t i = 0; step == 1 && i < cpu_model.parameters().parameters.size(); ++i) {
      const ParameterSpec& p = cpu_model.parameters().parameters[i];
      EXPECT_LE(distance(gpu_model.gradient(i), cpu_model.gradient(i)), gradient) << p.name;
      EXPECT_LE(distance(gpu_model.gradient(i), wide.gradient(i)), p.one_gemm_gradient ? 0x1p-8 : 1e-5) << p.name;
    }
    for (SmallModel* model : {&cpu_model, &gpu_model, &wide}) model->finish_step(step);
    if (step == 1) {
      EXPECT_NEAR(gpu_model.norm(), wide.norm(), 0x1p-8 * wide.norm());
    }
  }
}

/// Forward and backward make no call that a capture forbids: no wait, no allocation, nothing that depends on what the
/// device computes. The replay gives the bits of the eager pass.
TEST_P(GpuStep, ForwardAndBackwardAreCapturedAsAGraph) {
  const DeterministicKernels deterministic;
  SmallModel model(cuda_device(0), GetParam().precision);
  model.forward_backward();  // chooses plans, gathers weights, takes buffers
  const double eager_loss = model.loss();
  const std::vector<float> eager = model.all_gradients();

  const auto stream = static_cast<cudaStream_t>(model.stream().native());
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  model.forward_backward();
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);

  model.zero_gradients();
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(model.loss(), eager_loss);
  EXPECT_EQ(model.all_gradients(), eager);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

}  // namespace
}  // namespace octet::gpu_test

// The plan of a CUDA run's memory asks the CUDA kernels for their workspaces; that needs no device.
#include <gtest/gtest.h>

#include "kernels/cuda/gemm_problem.h"
#include "src/model/llama.h"
#include "src/train/options/model_file.h"

namespace octet::cuda {
namespace {

constexpr std::int64_t tokens = 2048;

LlamaSettings one_block(const std::string& model, Precision precision) {
  LlamaSettings settings{.model = read_model(OCTET_SOURCE_DIR "/configs/models/" + model + ".yaml"),
                         .precision = precision,
                         .float8 = {},
                         .micro_batch = 1,
                         .seq_len = tokens};
  settings.model.layers = 1;
  return settings;
}

Llama::MemoryNeeds plan(const LlamaSettings& settings, const KernelTable& kernels) {
  return Llama::plan(settings, *cpu_device().make_stream(), kernels);
}

class CudaMemoryPlan : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, CudaMemoryPlan, ::testing::Values("1.8b", "8b", "70b"),
                         [](const auto& tested) { return std::string(tested.param).substr(0, 1) + "b"; });

/// As many bytes are kept from forward to backward on every device: of fp8 inputs the transposed form in place of the
/// other.
TEST_P(CudaMemoryPlan, KeepsTheSameActivations) {
  for (const Precision precision : {Precision::bf16, Precision::float8}) {
    const LlamaSettings settings = one_block(GetParam(), precision);
    EXPECT_EQ(plan(settings, cuda_kernels()).activations, plan(settings, cpu_kernels()).activations);
  }
}

/// At the input gradients of w1 and w3: the output gradient in both layouts, the weight transposed and the GEMM's
/// workspace, beside the gradients of the block's ffn.
TEST_P(CudaMemoryPlan, CountsTransposedCopiesAndWorkspaces) {
  const LlamaSettings settings = one_block(GetParam(), Precision::float8);
  const std::int64_t ffn = settings.model.ffn_dim, dim = settings.model.dim;
  const std::int64_t of_w1 = 2 * tokens * ffn + ffn * dim + gemm_workspace_bytes;
  KernelTable as_stored = cuda_kernels();
  as_stored.float8_gemm_k_major = false;
  as_stored.logits_bytes = 1 << 20;  // so that the block, not the head, decides
  KernelTable k_major = as_stored;
  k_major.float8_gemm_k_major = true;
  EXPECT_GE(plan(settings, k_major).scratch, of_w1);
  EXPECT_GT(plan(settings, k_major).scratch, plan(settings, as_stored).scratch);
}

TEST_P(CudaMemoryPlan, LargerChunksOfLogitsAreCounted) {
  const LlamaSettings settings = one_block(GetParam(), Precision::bf16);
  KernelTable small = cuda_kernels();
  small.logits_bytes /= 4;
  EXPECT_GE(plan(settings, cuda_kernels()).scratch - plan(settings, small).scratch, std::int64_t{100} << 20);
}

}  // namespace
}  // namespace octet::cuda

// The plan of a CUDA run's memory asks the CUDA kernels for their workspaces; that needs no device.
#include <gtest/gtest.h>

#include "kernels/cuda/gemm/gemm_problem.h"
#include "src/model/llama.h"
#include "src/run_config/options/model_file.h"

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

Llama::MemoryNeeds memory_of(const LlamaSettings& settings, const KernelTable& kernels) {
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
    EXPECT_EQ(memory_of(settings, cuda_kernels()).activations, memory_of(settings, cpu_kernels()).activations);
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
  EXPECT_GE(memory_of(settings, k_major).scratch, of_w1);
  EXPECT_GT(memory_of(settings, k_major).scratch, memory_of(settings, as_stored).scratch);
}

TEST_P(CudaMemoryPlan, LargerChunksOfLogitsAreCounted) {
  const LlamaSettings settings = one_block(GetParam(), Precision::bf16);
  KernelTable small = cuda_kernels();
  small.logits_bytes /= 4;
  EXPECT_GE(memory_of(settings, cuda_kernels()).scratch - memory_of(settings, small).scratch, std::int64_t{100} << 20);
}

/// Parts of the keys are put together from fp32 copies of the output, which few rows have and those of scoring do not.
TEST(CudaSpanWorkspace, IsThatOfDividedKeysAlone) {
  const auto bytes = [](std::int64_t queries, std::int64_t keys, std::int64_t heads, std::int64_t kv_heads) {
    return cuda_kernels().span_attention_workspace(
        {.shape = {.queries = queries, .keys = keys, .heads = heads, .kv_heads = kv_heads, .head_dim = 128}});
  };
  constexpr std::int64_t of_part = (128 + 2) * 4;
  EXPECT_EQ(bytes(4096, 4096, 32, 8), 0);
  EXPECT_EQ(bytes(1024, 8192, 32, 8), 0);
  EXPECT_EQ(bytes(1, 128, 32, 8), 0) << "one step of a block";
  EXPECT_EQ(bytes(1, 129, 32, 8), 32 * 2 * of_part);
  EXPECT_EQ(bytes(1, 4096, 32, 8), 32 * 32 * of_part);
  EXPECT_EQ(bytes(128, 4096, 32, 8), 128 * 32 * 2 * of_part) << "512 blocks, twice";
  for (std::int64_t queries = 1; queries <= 4096; queries *= 2) {
    EXPECT_LE(bytes(queries, 1 << 17, 32, 8), 1024 * 8 * of_part) << queries << ": as many blocks as are enough";
  }
}

TEST_P(CudaMemoryPlan, OfRowsThatMayShareABeginningIsThatOfOthers) {
  LlamaSettings settings = one_block(GetParam(), Precision::bf16);
  settings.documents = settings.forward_only = true;
  KernelTable none = cuda_kernels();
  none.logits_bytes = 1 << 20;  // so that the block, not the head, decides
  KernelTable some = none;
  none.span_attention_workspace = [](const SpanAttention&) { return std::int64_t{0}; };
  EXPECT_EQ(memory_of(settings, some).scratch, memory_of(settings, none).scratch);
}

}  // namespace
}  // namespace octet::cuda

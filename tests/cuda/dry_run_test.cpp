// The plan with which every run on GPUs starts: a dry run with the CUDA kernels' own workspaces, which needs no GPU.
#include "src/train/plan/dry_run.h"

#include <gtest/gtest.h>

#include <set>

#include "kernels/cuda/gemm/gemm_problem.h"
#include "kernels/cuda_settings.h"
#include "kernels/gemm_timing.h"
#include "src/run_config/options/model_file.h"
#include "src/train/algorithms/problem_list.h"
#include "src/train/plan/memory_plan.h"

namespace octet::cuda {
namespace {

RunConfig run_8b() {
  RunConfig config;
  config.device = DeviceType::cuda;
  config.precision = Precision::float8;
  config.model = read_model(OCTET_SOURCE_DIR "/configs/models/8b.yaml");
  config.model.layers = 4;
  config.train.seq_len = 2048;
  config.train.global_batch = 32;
  config.parallel.tp = 2;
  return config;
}

TEST(CudaDryRun, PlansEveryRecipeWithTheWorkspacesOfItsKernels) {
  const MeshShape mesh{.dp_shard = 8, .tp = 2};
  for (const char* recipe : {"tensorwise", "rowwise", "delayed"}) {
    for (const bool async_tp : {false, true}) {
      SCOPED_TRACE(fmt::format("{}{}", recipe, async_tp ? ", async" : ""));
      RunConfig config = run_8b();
      config.float8.recipe = recipe;
      config.parallel.async_tp = async_tp;
      const MemoryPlan own = plan_run(config, mesh, 3, 8, DeviceType::cuda);
      const MemoryPlan anywhere = plan_run(config, mesh, 3, 8, DeviceType::cpu);
      for (int p = 0; p < static_cast<int>(Purpose::count); ++p) {
        const auto purpose = static_cast<Purpose>(p);
        if (purpose == Purpose::workspace) continue;
        EXPECT_EQ(own[purpose], anywhere[purpose]) << name_of(purpose);
      }
      EXPECT_GT(own[Purpose::workspace], 0);
      EXPECT_EQ(own[Purpose::communication], 0) << "NCCL's memory is not the ledger's";
      EXPECT_GT(own.nccl, 0);
    }
  }
}

/// The price of cuda.deterministic, the gradients of all scores, stands in the plan before there is a GPU.
TEST(CudaDryRun, PlansTheWorkspaceOfAttention) {
  RunConfig config = run_8b();
  config.train.seq_len = 8192;
  const MeshShape mesh{.dp_shard = 8, .tp = 2};
  const auto workspace = [&](bool deterministic) {
    set_cuda_settings({.deterministic = deterministic});
    const std::int64_t bytes = plan_run(config, mesh, 3, 8, DeviceType::cuda)[Purpose::workspace];
    set_cuda_settings({});
    return bytes;
  };
  const std::int64_t heads = config.model.heads / 2, scores = 2 * heads * 8192 * 8192;
  EXPECT_GE(workspace(false), 8 * heads * 8192 * config.model.head_dim);
  EXPECT_LT(workspace(false), scores);
  EXPECT_GE(workspace(true), scores);
}

/// Each has all that the library asks, and is told from the others by what an algorithm's choice depends on. Gradients
/// of the seven linears are all in the dtype that they are to be left in.
TEST(CudaDryRun, ListsGemmsThatTheLibraryTakes) {
  for (const char* recipe : {"tensorwise", "rowwise", "rowwise_with_gw_hp", "delayed", "blockwise"}) {
    for (const GradientForm wire : {GradientForm::fp32, GradientForm::bf16}) {
      SCOPED_TRACE(fmt::format("{}, gradients in {}", recipe, wire));
      RunConfig config = run_8b();
      config.float8.recipe = recipe;
      config.parallel.gradient_wire = wire;
      const ProblemList list = problems_of_run(config, {.dp_shard = 8, .tp = 2}, 3, DeviceType::cuda);
      EXPECT_GT(list.step_flops(), 0);
      std::set<std::string> problems;
      std::int64_t left_in_fp32 = 0;
      for (const Gemm& gemm : list.gemms) {
        EXPECT_NO_THROW(check_gemm(gemm));
        EXPECT_TRUE(problems.insert(gemm_problem(gemm)).second) << gemm_problem(gemm);
        const bool of_block = gemm.m != config.model.vocab_size / 2 && gemm.n != config.model.vocab_size / 2;
        left_in_fp32 += of_block && gemm.c_dtype == DType::f32 ? 1 : 0;
      }
      EXPECT_GT(problems.size(), 10u);
      EXPECT_EQ(left_in_fp32 > 0, wire == GradientForm::fp32) << left_in_fp32;
    }
  }
}

}  // namespace
}  // namespace octet::cuda

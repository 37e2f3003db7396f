#include <filesystem>

#include "kernels/algorithm_choices.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/run_config/checks/checks.h"

namespace octet {

/// Attention's own kernels of both devices end at this width (max_head_dim of kernels/cpu/attention/attention_tiles.h
/// and of kernels/cuda/attention/attention_tiles.cuh), and cuDNN has no backward pass beyond it: without this a run
/// would fail at its first backward pass.
void check_attention(const RunConfig& c, const Origins& at) {
  constexpr std::int64_t max_head_dim = 256;
  if (c.model.head_dim <= max_head_dim) return;
  throw refuse(at, "model", c.model.name, "head_dim {}, but attention on device {} serves at most {}", c.model.head_dim,
               c.device, max_head_dim);
}

/// An option of the other device would be ignored.
void check_device(const RunConfig& c, const Origins& at) {
  const auto unused = [&](const char* key, const auto& value, const auto& expected) {
    if (value != expected) throw refuse(at, key, value, "has no effect with device = {}", c.device);
  };
  if (c.device == DeviceType::cuda) {
    unused("cpu.gemm", c.cpu.gemm, CpuConfig().gemm);
    const Float8Accumulate accumulate = c.float8.accumulate;
    if (accumulate == Float8Config().accumulate) return;
    throw refuse(at, "float8.accumulate", accumulate,
                 "the GPU's tensor cores have sums of their own, which this emulates on the CPU; expected {} with "
                 "device = {}",
                 Float8Config().accumulate, c.device);
  }
  const CudaSettings none;
  unused("train.health_seconds", c.train.health_seconds, TrainConfig().health_seconds);
  unused("cuda.deterministic", c.cuda.deterministic, none.deterministic);
  unused("cuda.gemm", c.cuda.gemm, none.gemm);
  unused("cuda.graphs", c.graphs, RunConfig().graphs);
  unused("cuda.gemm_plans", c.cuda.gemm_plans, none.gemm_plans);
  unused("cuda.attention", c.cuda.attention, none.attention);
  const NcclSettings defaults;
  unused("nccl.pp_max_ctas", c.nccl.pp.max_ctas, defaults.pp.max_ctas);
  unused("nccl.tuning_file", c.nccl.tuning_file, defaults.tuning_file);
  unused("nccl.ranks_per_gpu", c.nccl.ranks_per_gpu, defaults.ranks_per_gpu);
  for (const char* group : nccl_groups) {
    const NcclGroupSettings &is = c.nccl.of(group), &expected = defaults.of(group);
    unused(fmt::format("nccl.{}_min_ctas", group).c_str(), is.min_ctas, expected.min_ctas);
    unused(fmt::format("nccl.{}_max_ctas", group).c_str(), is.max_ctas, expected.max_ctas);
    unused(fmt::format("nccl.{}_cta_policy", group).c_str(), is.cta_policy, expected.cta_policy);
    unused(fmt::format("nccl.{}_buffers", group).c_str(), is.buffers, expected.buffers);
  }
}

/// Two runs that time may choose differently.
void check_cuda_choices(const RunConfig& c, const Origins& at) {
  if (!c.cuda.deterministic) return;
  const auto refuse_timed = [&](const char* key, AlgorithmSearch search, const char* more) {
    if (search != AlgorithmSearch::timed) return;
    throw refuse(at, key, search,
                 "chooses anew in every run, which is not deterministic; expected heuristic or auto with "
                 "cuda.deterministic = true{}",
                 more);
  };
  refuse_timed("cuda.gemm", c.cuda.gemm, ", and cuda.gemm_plans to replay choices timed before");
  refuse_timed("cuda.attention", c.cuda.attention, "");
}

void check_algorithm_file(const RunConfig& c, const Origins& at) {
  const std::string& path = c.cuda.gemm_plans;
  if (path.empty()) return;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    read_algorithm_choices(AlgorithmKind::gemm, path);
    return;
  }
  if (!c.cuda.may_time_gemms()) {
    throw refuse(at, "cuda.gemm_plans", path,
                 "does not exist; expected a file that a run with cuda.gemm = timed wrote");
  }
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (std::filesystem::is_directory(folder, ignored)) return;
  throw refuse(at, "cuda.gemm_plans", path, "the run would write it, and there is no folder {}", folder.string());
}

constexpr int first_with_fp8 = 89;

void check_gpu(const RunConfig& c, int compute_capability, const Origins& at, std::string_view gpu) {
  const RecipePtr recipe = recipe_of(c.precision, c.float8);
  if (recipe->runs_on(compute_capability)) return;
  throw refuse(
      at, "float8.recipe", c.float8.recipe,
      "cuBLASLt has its GEMMs for {}, and {} has {}.{}; expected {}precision bf16 (docs/problems.md, \"The GPU "
      "lacks the recipe\")",
      recipe->gpus(), gpu, compute_capability / 10, compute_capability % 10,
      compute_capability >= first_with_fp8 ? "another recipe, or " : "");
}

}  // namespace octet

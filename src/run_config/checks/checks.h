#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "src/base/error.h"
#include "src/base/options/schema.h"
#include "src/model/parameters.h"
#include "src/run_config/run_config.h"

namespace octet {

// What a run cannot have, by subject. Each throws a usage error. validate() and resolve_layout() make all checks but
// the last two, which need more than the configuration: programs make those where they know it.

/// Usage error "[config] a.yaml:4: train.global_batch = 10: ...".
template <typename V, typename... Args>
Error refuse(const Origins& origins, const std::string& key, const V& value, fmt::format_string<Args...> text,
             Args&&... args) {
  const auto origin = origins.find(key);
  return usage_error("config", "{}: {} = {}: {}", origin == origins.end() ? "default" : origin->second, key, value,
                     fmt::format(text, std::forward<Args>(args)...));
}

/// Names of the mesh dimensions that have a section of options under nccl.
inline constexpr const char* nccl_groups[] = {"dp_shard", "dp_replicate", "tp"};

void check_schedule(const RunConfig& c, const Origins& at);
void check_optimizer(const RunConfig& c, const Origins& at);
void check_batch(const RunConfig& c, const Origins& at);
/// Weights and changes of the mixture.
void check_data(const RunConfig& c, const Origins& at);
void check_wall_time(const RunConfig& c, const Origins& at);
void check_profile(const RunConfig& c, const Origins& at);
void check_slow_ranks(const RunConfig& c, const Origins& at);
void check_checkpoint(const RunConfig& c, const Origins& at);
void check_tensor_parallel(const RunConfig& c, const Origins& at);
void check_parallel(const ParallelConfig& p, const Origins& at);
/// `p`: the resolved layout. The global batch divides, and every option has its effect on such a mesh.
void check_layout(const RunConfig& c, const ParallelConfig& p, const Origins& at);
/// `p`: the same.
void check_gradient_wire(const RunConfig& c, const ParallelConfig& p, int micro_batches, const Origins& at);
void check_pipeline(const RunConfig& c, const Origins& at);
void check_nccl(const RunConfig& c, const Origins& at);
void check_nccl_groups(const RunConfig& c, const ParallelConfig& p, const Origins& at);
void check_names(const RunConfig& c, const Origins& at);
void check_float8_gather(const RunConfig& c, const Origins& at);
void check_float8(const RunConfig& c, const Origins& at);
void check_float8_gemms(const RunConfig& c, const BlockRecipes& recipes, const Origins& at);
void check_recompute(const RunConfig& c, const Origins& at);
void check_attention(const RunConfig& c, const Origins& at);
void check_device(const RunConfig& c, const Origins& at);
void check_cuda_choices(const RunConfig& c, const Origins& at);
/// To be called where the run's files are seen. Usage error where cuda.gemm_plans is not there and nothing is timed
/// that would write it, is in no folder, or holds something else.
void check_algorithm_file(const RunConfig& c, const Origins& at);
/// To be called once the GPU is known (Device::compute_capability). Usage error where it, called `gpu` in the message,
/// lacks the GEMMs of the recipe.
void check_gpu(const RunConfig& c, int compute_capability, const Origins& at, std::string_view gpu = "this GPU");

}  // namespace octet

// The GEMMs and the attention that a dry run lists before the first step are those of the steps.
#include "src/train/algorithms/problem_list.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "src/ops/recipes/recipe_list.h"
#include "src/train/plan/dry_run.h"

namespace octet {
namespace {

RunConfig small_run() {
  RunConfig config;
  config.device = DeviceType::cuda;
  config.precision = Precision::float8;
  config.model.dim = 512;
  config.model.layers = 2;
  config.model.heads = 4;
  config.model.kv_heads = 2;
  config.model.head_dim = 128;
  config.model.ffn_dim = 1536;
  config.model.vocab_size = 1024;
  config.model.finish();
  config.train.seq_len = 512;
  config.train.micro_batch = 2;
  config.train.global_batch = 16;
  return config;
}

using Extents = std::tuple<std::int64_t, std::int64_t, std::int64_t, DType, DType, DType>;

/// From the trace that linears write themselves, of a run without anything else in common with the list.
std::set<Extents> traced(const RunConfig& config, const MeshShape& mesh, double& flops_of_a_step) {
  DryRun dry(config, mesh, 0, DeviceType::cpu);
  dry.step();
  flops_of_a_step = 0;
  std::set<Extents> all;
  for (const GemmTrace::Record& r : dry.gemms().records()) {
    all.insert({r.m, r.n, r.k, r.a, r.b, r.c});
    flops_of_a_step += 2.0 * static_cast<double>(r.m) * static_cast<double>(r.n) * static_cast<double>(r.k);
  }
  return all;
}

std::set<Extents> listed(const ProblemList& list) {
  std::set<Extents> all;
  for (const Gemm& g : list.gemms) all.insert({g.m, g.n, g.k, g.a.dtype, g.b.dtype, g.c_dtype});
  return all;
}

TEST(ProblemList, HasTheGemmsThatLinearsTrace) {
  for (const std::string& recipe : float8_recipe_names()) {
    for (const int tp : {1, 2}) {
      SCOPED_TRACE(fmt::format("{}, tp {}", recipe, tp));
      RunConfig config = small_run();
      config.float8.recipe = recipe;
      config.parallel.tp = tp;
      const MeshShape mesh{.dp_shard = 2, .tp = tp};
      const ProblemList list = problems_of_run(config, mesh, 0, DeviceType::cpu);
      double flops = 0;
      EXPECT_EQ(listed(list), traced(config, mesh, flops));
      EXPECT_DOUBLE_EQ(list.gemm_flops, flops) << "4 micro-batches, of which 2 are run";
    }
  }
}

/// Weight gradients are stored by the first micro-batch and added to by the next one: two problems for the library.
TEST(ProblemList, HasEachKindOnce) {
  const ProblemList list = problems_of_run(small_run(), {.dp_shard = 2}, 0, DeviceType::cpu);
  std::set<std::string> texts;
  int added = 0;
  for (const Gemm& g : list.gemms) {
    const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 256; };
    EXPECT_TRUE(texts
                    .insert(fmt::format("{} beta {} fast {} at {} {} {}", text_of(g), g.beta, g.fast_accumulate,
                                        address(g.a.data), address(g.b.data), address(g.c)))
                    .second)
        << text_of(g);
    if (g.beta != 0) ++added;
    EXPECT_EQ(is_float8(g.a.dtype), g.a.inverse_scale != nullptr);
  }
  EXPECT_GT(added, 0);
  EXPECT_LT(added, std::ssize(list.gemms));
}

/// Two passes a block and micro-batch, forward once more where blocks are computed again; a validation's are the same.
TEST(ProblemList, HasAttentionOnceAndItsFlopsForEachBlock) {
  for (const int tp : {1, 2}) {
    RunConfig config = small_run();
    config.parallel.tp = tp;
    const ProblemList list = problems_of_run(config, {.dp_shard = 2, .tp = tp}, 0, DeviceType::cpu);
    std::vector<std::string> texts;
    for (const AttentionProblem& problem : list.attention) texts.push_back(text_of(problem));
    const std::int64_t heads = 4 / tp, kv_heads = 2 / tp;
    const std::string sizes =
        fmt::format("b2 s512 h{}/{} d128 scale {:.9g} bf16", heads, kv_heads, 1 / std::sqrt(128.0f));
    EXPECT_EQ(texts, (std::vector<std::string>{"forward " + sizes, "backward " + sizes}));
    const double forward =
        4.0 * 2 * static_cast<double>(heads) * 128 * 512 * 512;  // two products over the whole square
    EXPECT_DOUBLE_EQ(list.attention_flops, 2 * 4 * (forward + 2 * forward)) << "2 blocks, 4 micro-batches of 2";
  }
}

}  // namespace
}  // namespace octet

#include "src/run_config/checks/checks.h"

#include <bit>
#include <limits>
#include <numeric>

#include "src/base/options/text.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/parallel/pipeline/pipeline_passes.h"
#include "src/run_config/options/option_texts.h"

namespace octet {
namespace {

void check_async_tp(const RunConfig& c, const Origins& at) {
  if (!c.parallel.async_tp) return;
  const auto refused = [&](const std::string& why) { return refuse(at, "parallel.async_tp", true, "{}", why); };
  if (c.parallel.tp == 1) throw refused("has no effect with parallel.tp = 1");
  if (c.precision != Precision::float8) return;
  if (float8_recipe(c.float8)->casts_where_read()) {
    throw refused(fmt::format("float8.recipe = {} gathers in bf16 and casts all tokens at once; expected {}, or false",
                              c.float8.recipe, alternatives(float8_recipes_where(&Recipe::casts_first))));
  }
}

}  // namespace

/// Tensor parallelism cuts heads, ffn and vocabulary, and the tokens of a micro-batch.
void check_tensor_parallel(const RunConfig& c, const Origins& at) {
  const std::int64_t tp = c.parallel.tp;
  const auto divides = [&](const char* what, std::int64_t extent) {
    if (extent % tp == 0) return;
    throw refuse(at, "parallel.tp", tp,
                 "does not divide {} = {}; expected a common divisor of heads {}, kv_heads {}, ffn_dim {} and "
                 "vocab_size {} of model {}",
                 what, extent, c.model.heads, c.model.kv_heads, c.model.ffn_dim, c.model.vocab_size, c.model.name);
  };
  divides("heads", c.model.heads);
  divides("kv_heads", c.model.kv_heads);
  divides("ffn_dim", c.model.ffn_dim);
  divides("vocab_size", c.model.vocab_size);
  if (c.train.micro_batch * c.train.seq_len % tp != 0) {
    throw refuse(at, "parallel.tp", tp,
                 "does not divide the tokens of a micro-batch, train.micro_batch {} x train.seq_len {}; expected a "
                 "divisor of them, or other tokens",
                 c.train.micro_batch, c.train.seq_len);
  }
  if (tp == 1 && c.parallel.tp_keep_gathered) {
    throw refuse(at, "parallel.tp_keep_gathered", true, "has no effect with parallel.tp = 1");
  }
  check_async_tp(c, at);
}

void check_parallel(const ParallelConfig& p, const Origins& at) {
  const auto one = [&](const char* key, std::int64_t value) {
    if (value != 1) throw refuse(at, key, value, "not available yet, expected 1");
  };
  one("parallel.cp", p.cp);
  if (p.whole_gradients != GradientForm::fp32 && p.zero != Zero::one) {
    throw refuse(at, "parallel.whole_gradients", p.whole_gradients,
                 "has no effect with parallel.zero = {}: gradients are reduced after every micro-batch; expected fp32, "
                 "or parallel.zero 1",
                 p.zero);
  }
}

/// One shard that exchanges nothing has the gradients as their GEMMs leave them.
void check_gradient_wire(const RunConfig& c, const ParallelConfig& p, int micro_batches, const Origins& at) {
  if (p.gradient_wire == GradientForm::fp32 || p.dp_shard > 1 || p.one_rank_exchange) return;
  const auto refused = [&](const std::string& why, const std::string& instead) {
    return refuse(at, "parallel.gradient_wire", p.gradient_wire,
                  "with parallel.dp_shard = 1 no gradients travel, and bf16 would keep them as their GEMMs leave them, "
                  "but {}; expected fp32, or {}",
                  why, instead);
  };
  if (c.precision == Precision::fp32) throw refused("those of precision fp32 leave fp32", "precision bf16 or float8");
  if (p.dp_replicate > 1) throw refused("sums over replicas are of fp32", "parallel.dp_shard above 1");
  if (p.pp > 1) throw refused("the micro-batches of a pipeline are added up in fp32", "parallel.dp_shard above 1");
  if (micro_batches > 1) {
    throw refused(fmt::format("the {} micro-batches of a step are added up in fp32", micro_batches),
                  fmt::format("train.micro_batch {}, one micro-batch a step", c.train.micro_batch * micro_batches));
  }
}

/// What holds for any number of micro-batches; see check_layout for the rest.
void check_pipeline(const RunConfig& c, const Origins& at) {
  const ParallelConfig& p = c.parallel;
  const std::int64_t stages = p.pp * p.pp_chunks;
  if (p.pp_schedule == PipelineOrder::zb_h1 && p.pp == 1) {
    throw refuse(at, "parallel.pp_schedule", p.pp_schedule, "with parallel.pp = 1 there is no pipeline; expected 1f1b");
  }
  const auto layout = parse_pp_layout(p.pp_layout);
  if (!layout) {
    throw refuse(at, "parallel.pp_layout", p.pp_layout,
                 "expected auto or the blocks of each stage, at least 1, as \"7, 8, 8, 7\"");
  }
  if (!layout->empty() && static_cast<std::int64_t>(layout->size()) != stages) {
    throw refuse(at, "parallel.pp_layout", p.pp_layout, "is of {} stages, expected pp {} x pp_chunks {} = {}",
                 layout->size(), p.pp, p.pp_chunks, stages);
  }
  const std::int64_t blocks = std::accumulate(layout->begin(), layout->end(), std::int64_t{0});
  if (!layout->empty() && blocks != c.model.layers) {
    throw refuse(at, "parallel.pp_layout", p.pp_layout, "has {} blocks, expected {}, as model {} has", blocks,
                 c.model.layers, c.model.name);
  }
  if (stages > c.model.layers) {
    throw refuse(
        at, "parallel.pp", p.pp,
        "pp_chunks {} makes {} stages, but model {} has {} blocks, and each stage needs one; expected fewer stages",
        p.pp_chunks, stages, c.model.name, c.model.layers);
  }
  constexpr int any_micro_batches = std::numeric_limits<int>::max();  // check_layout knows how many there are
  if (const auto obstacle = obstacle_to(pipeline_shape(p, any_micro_batches))) {
    throw refuse(at, obstacle->key, obstacle->value, "{}", obstacle->why);
  }
}

/// NCCL 2.28 applies its policies to few collectives, and else keeps to its default in silence.
void check_cta_policy(const char* group, const NcclSettings& nccl, const Origins& at) {
  const NcclGroupSettings& g = nccl.of(group);
  if (g.cta_policy == CtaPolicy::standard) return;
  const auto refused = [&](const std::string& why) {
    return refuse(at, fmt::format("nccl.{}_cta_policy", group).c_str(), g.cta_policy, "{}", why);
  };
  const bool zero = g.cta_policy == CtaPolicy::zero;
  if (zero ? g.buffers != NcclBuffers::symmetric : g.buffers == NcclBuffers::plain) {
    const char* needed = zero ? "symmetric" : "registered";
    throw refused(fmt::format("NCCL applies it to {} buffers alone, which {}; expected default", needed,
                              std::string_view(group) == "dp_shard"
                                  ? fmt::format("nccl.dp_shard_buffers = {} gives", needed)
                                  : "this group has not got"));
  }
  if (!zero && !nccl.tuning_file.empty()) {
    throw refused(
        "has no effect with nccl.tuning_file: NCCL applies it only where no tuner is loaded; expected default");
  }
}

void check_nccl(const RunConfig& c, const Origins& at) {
  // ncclTopoComputeP2pChannels rounds up, so that another number would be no limit.
  if (const auto most = static_cast<std::uint64_t>(c.nccl.pp.max_ctas); most > 0 && !std::has_single_bit(most)) {
    throw refuse(at, "nccl.pp_max_ctas", most, "NCCL takes a power of two for messages; expected {} or {}",
                 std::bit_floor(most), std::bit_ceil(most));
  }
  for (const char* group : nccl_groups) {
    const NcclGroupSettings& g = c.nccl.of(group);
    if (g.max_ctas == 0 || g.min_ctas <= g.max_ctas) continue;
    throw refuse(at, fmt::format("nccl.{}_min_ctas", group).c_str(), g.min_ctas,
                 "is above nccl.{}_max_ctas = {}; expected at most that", group, g.max_ctas);
  }
  for (const char* group : nccl_groups) check_cta_policy(group, c.nccl, at);
  if (c.nccl.dp_shard.buffers == NcclBuffers::plain || c.precision != Precision::float8) return;
  if (c.float8.all_gather != AutoBool::no || float8_recipe(c.float8)->casts_where_read()) return;
  throw refuse(
      at, "nccl.dp_shard_buffers", c.nccl.dp_shard.buffers,
      "with float8.all_gather = false weights are gathered in bf16 into memory that is let go at once, and not "
      "registered; expected plain, or float8.all_gather auto");
}

/// A group of one exchanges nothing.
void check_nccl_groups(const RunConfig& c, const ParallelConfig& p, const Origins& at) {
  const NcclGroupSettings none;
  const auto unused = [&](const std::string& key, const auto& value, const auto& expected, std::int64_t degree) {
    if (degree == 1 && value != expected) {
      throw refuse(at, ("nccl." + key).c_str(), value, "has no effect: the dimension has one rank");
    }
  };
  for (const auto& [group, degree] : {std::pair{std::string("dp_shard"), p.dp_shard},
                                      {std::string("dp_replicate"), p.dp_replicate},
                                      {std::string("tp"), p.tp}}) {
    const NcclGroupSettings& is = c.nccl.of(group);
    unused(group + "_min_ctas", is.min_ctas, none.min_ctas, degree);
    unused(group + "_max_ctas", is.max_ctas, none.max_ctas, degree);
    unused(group + "_cta_policy", is.cta_policy, none.cta_policy, degree);
    unused(group + "_buffers", is.buffers, none.buffers, degree);
  }
  unused("pp_max_ctas", c.nccl.pp.max_ctas, none.max_ctas, p.pp);
}

}  // namespace octet

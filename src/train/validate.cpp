#include "src/train/validate.h"

#include <algorithm>

#include "src/base/options/text.h"
#include "src/model/parameters.h"
#include "src/ops/recipe.h"
#include "src/train/checkpoint_interval.h"
#include "src/train/profile_steps.h"
#include "src/train/schema.h"
#include "src/train/settings_check.h"
#include "src/train/wall_clock.h"

namespace octet {
namespace {

/// Usage error "[config] a.yaml:4: train.global_batch = 10: ...".
template <typename V, typename... Args>
Error refuse(const Origins& origins, const std::string& key, const V& value, fmt::format_string<Args...> text,
             Args&&... args) {
  const auto origin = origins.find(key);
  return usage_error("config", "{}: {} = {}: {}", origin == origins.end() ? "default" : origin->second, key, value,
                     fmt::format(text, std::forward<Args>(args)...));
}

void check_schedule(const RunConfig& c, const Origins& at) {
  const ScheduleConfig& s = c.schedule;
  if (s.kind != "wsd" && s.decay_steps > 0) {
    throw refuse(at, "schedule.decay_steps", s.decay_steps,
                 "has no effect with schedule.kind = {}; expected 0, or kind wsd", s.kind);
  }
  if (s.kind != "cosine" && s.decay_steps == 0 && s.min_lr_ratio > 0) {
    throw refuse(at, "schedule.min_lr_ratio", s.min_lr_ratio,
                 "has no effect with schedule.kind = {} and no schedule.decay_steps; expected 0", s.kind);
  }
  if (s.warmup_steps > c.train.steps) {
    throw refuse(at, "schedule.warmup_steps", s.warmup_steps, "expected at most train.steps = {}", c.train.steps);
  }
  if (s.warmup_steps + s.decay_steps > c.train.steps) {
    throw refuse(at, "schedule.decay_steps", s.decay_steps,
                 "warmup_steps {} + decay_steps {} = {}, expected at most train.steps = {}", s.warmup_steps,
                 s.decay_steps, s.warmup_steps + s.decay_steps, c.train.steps);
  }
}

void check_batch(const RunConfig& c, const Origins& at) {
  if (c.train.global_batch % c.train.micro_batch != 0) {
    throw refuse(at, "train.global_batch", c.train.global_batch, "expected a multiple of train.micro_batch = {}",
                 c.train.micro_batch);
  }
  if (c.train.validate_every > 0 && c.data.validation_fraction == 0) {
    throw refuse(at, "train.validate_every", c.train.validate_every,
                 "there is nothing to validate on with data.validation_fraction = 0");
  }
}

void check_async_tp(const RunConfig& c, const Origins& at) {
  if (!c.parallel.async_tp) return;
  const auto refused = [&](const std::string& why) { return refuse(at, "parallel.async_tp", true, "{}", why); };
  if (c.parallel.tp == 1) throw refused("has no effect with parallel.tp = 1");
  if (c.precision != Precision::float8) return;
  if (c.float8.recipe.starts_with("rowwise")) {
    throw refused(
        fmt::format("float8.recipe = {} gathers in bf16 and casts all tokens at once; expected tensorwise or "
                    "delayed, or false",
                    c.float8.recipe));
  }
  const std::int64_t rows = c.train.micro_batch * c.train.seq_len / c.parallel.tp;
  if (rows % 16 != 0) {
    throw refused(
        fmt::format("a part has {} tokens (micro_batch {} x seq_len {} / tp {}), and 8-bit GEMMs need multiples "
                    "of 16",
                    rows, c.train.micro_batch, c.train.seq_len, c.parallel.tp));
  }
}

/// Tensor parallelism cuts heads, ffn and vocabulary, and the tokens of a micro-batch.
void check_tensor_parallel(const RunConfig& c, const Origins& at) {
  const std::int64_t tp = c.parallel.tp;
  const auto divides = [&](const char* what, std::int64_t extent) {
    if (extent % tp == 0) return;
    throw refuse(at, "parallel.tp", tp,
                 "does not divide {} = {}; expected a common divisor of heads {}, kv_heads {}, "
                 "ffn_dim {} and vocab_size {} of model {} and of micro_batch {} x seq_len {} tokens",
                 what, extent, c.model.heads, c.model.kv_heads, c.model.ffn_dim, c.model.vocab_size, c.model.name,
                 c.train.micro_batch, c.train.seq_len);
  };
  divides("heads", c.model.heads);
  divides("kv_heads", c.model.kv_heads);
  divides("ffn_dim", c.model.ffn_dim);
  divides("vocab_size", c.model.vocab_size);
  divides("micro_batch x seq_len", c.train.micro_batch * c.train.seq_len);
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
  one("parallel.pp", p.pp);
}

/// Every entry of a list of name parts is in a name; otherwise it would have no effect.
void check_parts(const std::vector<std::string>& parts, const std::vector<std::string>& names,
                 const std::vector<std::string>& proposals, const char* key, const std::string& what,
                 const Origins& at) {
  for (const std::string& part : parts) {
    const bool used = !part.empty() && std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.find(part) != std::string::npos;
    });
    if (!used) throw refuse(at, key, in_quotes(part), "{}; nearest: {}", what, nearest(part, proposals));
  }
}

void check_names(const RunConfig& c, const Origins& at) {
  std::vector<std::string> linears, weights, parameters;
  for (const LinearRecipe& l : block_recipes(c.model, Precision::float8, {}, 0)) linears.emplace_back(l.name);
  for (const ParameterSpec& p : llama_parameters(c.model, Precision::float8, {}).parameters) {
    parameters.push_back(p.name);
    if (is_float8(p.gathered)) weights.push_back(p.name);
  }
  check_parts(c.float8.bf16_linears, weights, linears, "float8.bf16_linears",
              "expected a part of a weight's name, layers.N.NAME.weight with a NAME of " + joined(linears), at);
  check_parts(c.optimizer.no_decay, parameters, parameters, "optimizer.no_decay",
              "expected a part of a parameter's name", at);
}

/// Scales of rows and columns are known only where the whole weight is.
void check_float8_gather(const RunConfig& c, const Origins& at) {
  if (c.float8.all_gather != "true" || float8_recipe(c.float8.recipe).may_gather_float8()) return;
  throw refuse(
      at, "float8.all_gather", c.float8.all_gather,
      "recipe {} casts weights after they are gathered; expected auto or false, or recipe tensorwise or delayed",
      c.float8.recipe);
}

/// GEMMs on 8-bit operands need all three dimensions in multiples of 16 (cuBLASLt; torchao filters by the same rule).
void check_float8_shapes(const RunConfig& c, const BlockRecipes& recipes, const Origins& at) {
  for (int l = 0; l < block_linears; ++l) {
    const LinearRecipe& recipe = recipes[static_cast<std::size_t>(l)];
    if (!recipe.float8) continue;
    const Shape weight = weight_shape(c.model.part(static_cast<int>(c.parallel.tp)), static_cast<BlockLinear>(l));
    if (weight[0] % 16 != 0 || weight[1] % 16 != 0) {
      throw refuse(at, "precision", "float8",
                   "linear {} of model {} has {} inputs and {} outputs{}, expected multiples of 16; list it in "
                   "float8.bf16_linears or choose another shape",
                   recipe.name, c.model.name, weight[1], weight[0],
                   c.parallel.tp == 1 ? "" : fmt::format(" a rank with parallel.tp = {}", c.parallel.tp));
    }
    const std::int64_t tokens = c.train.micro_batch * c.train.seq_len;
    if (tokens % 16 != 0) {
      throw refuse(at, "precision", "float8",
                   "train.micro_batch {} x train.seq_len {} = {} tokens, expected a multiple of 16",
                   c.train.micro_batch, c.train.seq_len, tokens);
    }
  }
}

/// Options of a recipe that remembers would be ignored by the others.
void check_delayed(const Float8Config& c, const Origins& at) {
  if (float8_recipe(c.recipe).remembers) return;
  const Float8Config none;
  const auto unused = [&](const char* key, const auto& value, const auto& expected) {
    if (value != expected) throw refuse(at, key, value, "has no effect with float8.recipe = {}", c.recipe);
  };
  unused("float8.delayed_history", c.delayed_history, none.delayed_history);
  unused("float8.delayed_margin", c.delayed_margin, none.delayed_margin);
  unused("float8.delayed_algorithm", c.delayed_algorithm, none.delayed_algorithm);
}

void check_float8(const RunConfig& c, const Origins& at) {
  if (c.precision != Precision::float8) return;
  if (c.float8.filter_small_kn && float8_recipe(c.float8.recipe).too_small == nullptr) {
    throw refuse(at, "float8.filter_small_kn", true,
                 "torchao has no measured limits for recipe {}; list linears in float8.bf16_linears", c.float8.recipe);
  }
  check_delayed(c.float8, at);
  bool any = false;
  for (const EqualBlocks& blocks : equal_blocks(c.model, c.precision, c.float8)) {
    check_float8_shapes(c, blocks.recipes, at);
    any = any || std::ranges::any_of(blocks.recipes, &LinearRecipe::float8);
  }
  if (any) return;
  throw refuse(at, "precision", "float8",
               "no linear is left in it: float8.bf16_linears [{}], bf16_first_layers {}, bf16_last_layers {} of {} and "
               "filter_small_kn {} keep all in bf16; expected precision bf16",
               joined(c.float8.bf16_linears), c.float8.bf16_first_layers, c.float8.bf16_last_layers, c.model.layers,
               c.float8.filter_small_kn);
}

/// Recompute's options have an effect, and at least two blocks share the memory of what they make again.
void check_recompute(const RunConfig& c, const Origins& at) {
  const RecomputeConfig& r = c.recompute;
  const std::string listed = r.keep.empty() ? "" : in_quotes(r.keep.front());
  if (r.mode != "selective") {
    const std::string why = fmt::format("has no effect with recompute.mode = {}; expected mode selective", r.mode);
    if (r.preset != "none") throw refuse(at, "recompute.preset", r.preset, "{}", why);
    if (!r.keep.empty()) throw refuse(at, "recompute.keep", listed, "{}", why);
  }
  if (r.mode == "none") {
    if (r.every > 1) throw refuse(at, "recompute.every", r.every, "has no effect with recompute.mode = none");
    return;
  }
  if (r.mode == "selective" && r.preset == "none" && r.keep.empty()) {
    throw refuse(at, "recompute.mode", r.mode, "expected recompute.preset, or in recompute.keep what is kept");
  }
  if (r.preset != "none" && !r.keep.empty()) {
    throw refuse(at, "recompute.keep", listed, "has no effect with recompute.preset = {}; expected one of them",
                 r.preset);
  }
  const std::vector<std::string> names(activation_names.begin(), activation_names.end());
  for (const std::string& name : r.keep) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw refuse(at, "recompute.keep", in_quotes(name), "expected names of {}; nearest: {}", joined(names),
                 nearest(name, names));
  }
  RecomputePolicy policy = RecomputePolicy::of(r, c.model.layers);
  const auto casts_for_wo = [](const EqualBlocks& blocks) { return blocks.recipes[wo].float8; };
  if (std::ranges::none_of(equal_blocks(c.model, c.precision, c.float8), casts_for_wo)) {
    if (policy.kept.has(Activation::attention_cast)) {
      throw refuse(at, "recompute.keep", in_quotes("attention_cast"),
                   "has no effect where attention.wo is not float8: there is no such cast");
    }
    policy.kept.add(Activation::attention_cast);
  }
  if (policy.kept == ActivationSet::all()) {
    throw refuse(at, "recompute.keep", listed, "all activations are kept, so nothing would be recomputed");
  }
  if (policy.blocks_again() > 0) return;
  const std::string why =
      fmt::format("fewer than two of {} blocks would recompute, which saves nothing", policy.layers);
  if (r.every > 1) throw refuse(at, "recompute.every", r.every, "{}; expected at most {}", why, policy.layers / 2);
  throw refuse(at, "recompute.mode", r.mode, "{}", why);
}

void check_wall_time(const RunConfig& c, const Origins& at) {
  if (parse_wall_time(c.train.max_wall_time)) return;
  throw refuse(at, "train.max_wall_time", in_quotes(c.train.max_wall_time),
               "expected minutes such as 90, or H:MM:SS such as 23:50:00; 0 for none");
}

void check_profile(const RunConfig& c, const Origins& at) {
  const std::string& text = c.train.profile;
  const auto steps = parse_profile_steps(text);
  if (!steps || steps->first > steps->last) {
    throw refuse(at, "train.profile", in_quotes(text),
                 "expected off, or two steps from 1, the second not before the first, such as 10-12");
  }
  if (steps->count() > ProfileSteps::most) {
    throw refuse(at, "train.profile", in_quotes(text), "{} steps, expected at most {}", steps->count(),
                 ProfileSteps::most);
  }
  if (steps->last > c.train.steps) {
    throw refuse(at, "train.profile", in_quotes(text), "expected no step beyond train.steps = {}", c.train.steps);
  }
}

/// Names that would have no effect, or are to be refused later, are refused now.
void check_allowed_changes(const RunConfig& c, const Origins& at) {
  RunConfig copy = c;
  Schema schema;
  declare_stored_options(schema, copy);
  for (const std::string& key : c.checkpoint.allow_changes) {
    if (schema.find(key) == nullptr) {
      throw refuse(at, "checkpoint.allow_changes", in_quotes(key), "no such option; nearest: {}",
                   nearest(key, schema.names()));
    }
    if (!may_be_allowed(key) && !may_change(key, c)) {
      throw refuse(at, "checkpoint.allow_changes", in_quotes(key),
                   "may never change in a run; expected precision or options of optimizer, schedule or float8");
    }
  }
}

void check_checkpoint(const RunConfig& c, const Origins& at) {
  const CheckpointConfig& k = c.checkpoint;
  const auto interval = parse_interval(k.interval);
  if (!interval) throw refuse(at, "checkpoint.interval", in_quotes(k.interval), "expected {}", interval_forms);
  const bool off = interval->kind == checkpoint::Interval::Kind::off;
  if (off && k.test_write) {
    throw refuse(at, "checkpoint.test_write", k.test_write, "has no effect with checkpoint.interval = off");
  }
  // With off it may stay: that is how one run of a profile is made to save nothing.
  if (!off && k.interval != "auto" && k.failure_gpu_hours != CheckpointConfig().failure_gpu_hours) {
    throw refuse(at, "checkpoint.failure_gpu_hours", k.failure_gpu_hours,
                 "has no effect with checkpoint.interval = {}; expected interval auto", k.interval);
  }
  if (!parse_writers(k.writers_per_node)) {
    throw refuse(at, "checkpoint.writers_per_node", in_quotes(k.writers_per_node),
                 "expected all, or a number of ranks from 1");
  }
  check_allowed_changes(c, at);
  if (k.resume == "must" && c.run_dir.empty()) {
    throw refuse(at, "checkpoint.resume", k.resume, "there is nothing to resume in a new folder; expected run.dir");
  }
}

/// Attention's own kernels of both devices end at this width (max_head_dim of kernels/cpu/attention_tiles.h and of
/// kernels/cuda/attention_tiles.cuh), and cuDNN has no backward pass beyond it: without this a run would fail at its
/// first backward pass.
void check_attention(const RunConfig& c, const Origins& at) {
  constexpr std::int64_t max_head_dim = 256;
  if (c.model.head_dim <= max_head_dim) return;
  throw refuse(at, "model", c.model.name, "head_dim {}, but attention on device {} serves at most {}", c.model.head_dim,
               c.device, max_head_dim);
}

constexpr const char* nccl_groups[] = {"dp_shard", "dp_replicate", "tp"};

void check_nccl(const RunConfig& c, const Origins& at) {
  for (const char* group : nccl_groups) {
    const NcclGroupSettings& g = c.nccl.of(group);
    if (g.max_ctas == 0 || g.min_ctas <= g.max_ctas) continue;
    throw refuse(at, fmt::format("nccl.{}_min_ctas", group).c_str(), g.min_ctas,
                 "is above nccl.{}_max_ctas = {}; expected at most that", group, g.max_ctas);
  }
  for (const char* group : nccl_groups) {
    const NcclGroupSettings& g = c.nccl.of(group);
    if (g.cta_policy != "zero" || g.buffers == "symmetric") continue;
    throw refuse(
        at, fmt::format("nccl.{}_cta_policy", group).c_str(), g.cta_policy,
        "NCCL's copy engines work on symmetric buffers alone, which {}; expected default or efficiency",
        std::string_view(group) == "dp_shard" ? "nccl.dp_shard_buffers = symmetric gives" : "this group has not got");
  }
  for (const char* group : nccl_groups) {
    const NcclGroupSettings& g = c.nccl.of(group);
    if (g.cta_policy != "efficiency" || c.nccl.tuning_file.empty()) continue;
    throw refuse(
        at, fmt::format("nccl.{}_cta_policy", group).c_str(), g.cta_policy,
        "has no effect with nccl.tuning_file: NCCL applies it only where no tuner is loaded; expected default or "
        "zero");
  }
}

/// An option of the other device would be ignored.
void check_device(const RunConfig& c, const Origins& at) {
  if (c.device == "cuda") {
    const std::string& accumulate = c.float8.accumulate;
    if (accumulate == Float8Config().accumulate) return;
    throw refuse(at, "float8.accumulate", accumulate,
                 "the GPU's tensor cores have sums of their own, which this emulates on the CPU; expected {} with "
                 "device = {}",
                 Float8Config().accumulate, c.device);
  }
  const CudaSettings none;
  const auto unused = [&](const char* key, const auto& value, const auto& expected) {
    if (value != expected) throw refuse(at, key, value, "has no effect with device = {}", c.device);
  };
  unused("train.health_seconds", c.train.health_seconds, TrainConfig().health_seconds);
  unused("cuda.deterministic", c.cuda.deterministic, none.deterministic);
  unused("cuda.gemm", c.cuda.gemm, none.gemm);
  unused("cuda.gemm_plans", c.cuda.gemm_plans, none.gemm_plans);
  const NcclSettings defaults;
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

}  // namespace

void validate(const RunConfig& config, const Origins& origins) {
  RunConfig copy = config;
  Schema schema;
  declare_options(schema, copy);
  schema.check(origins);
  check_schedule(config, origins);
  check_batch(config, origins);
  check_parallel(config.parallel, origins);
  check_tensor_parallel(config, origins);
  check_names(config, origins);
  check_float8_gather(config, origins);
  check_float8(config, origins);
  check_recompute(config, origins);
  check_attention(config, origins);
  check_wall_time(config, origins);
  check_profile(config, origins);
  check_checkpoint(config, origins);
  check_device(config, origins);
  check_nccl(config, origins);
}

namespace {

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
}

}  // namespace

ParallelConfig resolve_layout(const RunConfig& config, std::int64_t ranks, const Origins& origins) {
  ParallelConfig p = config.parallel;
  const std::int64_t others = p.dp_replicate * p.tp;
  if (p.dp_shard == 0 && ranks % p.tp != 0) {
    throw refuse(origins, "parallel.tp", p.tp, "the job has {} ranks, expected a divisor of that number", ranks);
  }
  if (p.dp_shard == 0 && ranks % others != 0) {
    throw refuse(origins, "parallel.dp_replicate", p.dp_replicate,
                 "the job has {} ranks{}, expected a divisor of that number", ranks / p.tp,
                 p.tp == 1 ? "" : fmt::format(" for each of {} tp ranks", p.tp));
  }
  if (p.dp_shard == 0) p.dp_shard = ranks / others;
  if (others * p.dp_shard != ranks) {
    const std::string tp = p.tp == 1 ? "" : fmt::format(" x tp {}", p.tp);
    throw refuse(origins, "parallel.dp_shard", p.dp_shard,
                 "dp_replicate {} x dp_shard {}{} = {} ranks, but the job has {}; start {} ranks (mpiexec -n {}) or "
                 "change the mesh (dp_shard 0 takes all)",
                 p.dp_replicate, p.dp_shard, tp, others * p.dp_shard, ranks, others * p.dp_shard, others * p.dp_shard);
  }
  if (p.gradient_wire != "fp32" && p.dp_shard == 1) {
    throw refuse(
        origins, "parallel.gradient_wire", p.gradient_wire,
        "has no effect with parallel.dp_shard = 1: sums over replicas and tp are in fp32 always; expected fp32, "
        "or dp_shard above 1");
  }
  if (p.one_rank_exchange && p.dp_shard > 1) {
    throw refuse(origins, "parallel.one_rank_exchange", "true",
                 "is for shard groups of one rank, this run has {} shards; expected false", p.dp_shard);
  }
  if (p.overlap == "true" && p.dp_shard == 1 && !p.one_rank_exchange) {
    throw refuse(origins, "parallel.overlap", p.overlap,
                 "has no effect with parallel.dp_shard = 1: nothing is gathered; expected auto or false");
  }
  check_nccl_groups(config, p, origins);
  const std::int64_t data_parallel = ranks / p.tp;
  const std::int64_t sequences = config.train.micro_batch * data_parallel;
  if (config.train.global_batch % sequences != 0) {
    throw refuse(origins, "train.global_batch", config.train.global_batch,
                 "expected a multiple of micro_batch {} x {} data-parallel ranks = {}", config.train.micro_batch,
                 data_parallel, sequences);
  }
  return p;
}

}  // namespace octet

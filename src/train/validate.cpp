#include "src/train/validate.h"

#include <algorithm>
#include <array>

#include "src/base/options/text.h"
#include "src/train/schema.h"

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
  if (s.kind == "constant" && s.min_lr_ratio > 0) {
    throw refuse(at, "schedule.min_lr_ratio", s.min_lr_ratio,
                 "has no effect with schedule.kind = constant; expected 0");
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

void check_parallel(const ParallelConfig& p, const Origins& at) {
  const auto one = [&](const char* key, std::int64_t value) {
    if (value != 1) throw refuse(at, key, value, "not available yet, expected 1");
  };
  one("parallel.tp", p.tp);
  one("parallel.cp", p.cp);
  one("parallel.pp", p.pp);
}

struct Linear {
  const char* name;
  std::int64_t inputs, outputs;
};

/// Names and dimensions as in src/model/parameters.cpp.
std::array<Linear, 7> block_linears_of(const ModelConfig& m) {
  return {{{"attention.wq", m.dim, m.q_dim()},
           {"attention.wk", m.dim, m.kv_dim()},
           {"attention.wv", m.dim, m.kv_dim()},
           {"attention.wo", m.q_dim(), m.dim},
           {"feed_forward.w1", m.dim, m.ffn_dim},
           {"feed_forward.w3", m.dim, m.ffn_dim},
           {"feed_forward.w2", m.ffn_dim, m.dim}}};
}

void check_exceptions(const RunConfig& c, const Origins& at) {
  const auto linears = block_linears_of(c.model);
  for (const std::string& part : c.float8.bf16_linears) {
    const bool used = !part.empty() && std::any_of(linears.begin(), linears.end(), [&](const Linear& l) {
      return std::string_view(l.name).find(part) != std::string_view::npos;
    });
    if (used) continue;
    std::vector<std::string> names;
    for (const Linear& l : linears) names.emplace_back(l.name);
    throw refuse(at, "float8.bf16_linears", in_quotes(part), "expected a part of one of {}; nearest: {}", joined(names),
                 nearest(part, names));
  }
}

/// GEMMs on 8-bit operands need all three dimensions in multiples of 16 (cuBLASLt; torchao filters by the same rule).
void check_float8(const RunConfig& c, const Origins& at) {
  check_exceptions(c, at);
  if (c.precision != Precision::float8) return;
  for (const Linear& l : block_linears_of(c.model)) {
    const auto& parts = c.float8.bf16_linears;
    if (std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
          return std::string_view(l.name).find(part) != std::string_view::npos;
        })) {
      continue;
    }
    if (l.inputs % 16 != 0 || l.outputs % 16 != 0) {
      throw refuse(at, "precision", "float8",
                   "linear {} of model {} has {} inputs and {} outputs, expected multiples of 16; list it in "
                   "float8.bf16_linears or choose another shape",
                   l.name, c.model.name, l.inputs, l.outputs);
    }
    if (c.train.micro_batch * c.train.seq_len % 16 != 0) {
      throw refuse(at, "precision", "float8",
                   "train.micro_batch {} x train.seq_len {} = {} tokens, expected a multiple of 16",
                   c.train.micro_batch, c.train.seq_len, c.train.micro_batch * c.train.seq_len);
    }
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
  check_float8(config, origins);
}

ParallelConfig resolve_layout(const RunConfig& config, std::int64_t ranks, const Origins& origins) {
  ParallelConfig p = config.parallel;
  if (p.dp_shard == 0 && ranks % p.dp_replicate != 0) {
    throw refuse(origins, "parallel.dp_replicate", p.dp_replicate,
                 "the job has {} ranks, expected a divisor of that number", ranks);
  }
  if (p.dp_shard == 0) p.dp_shard = ranks / p.dp_replicate;
  if (p.dp_replicate * p.dp_shard != ranks) {
    throw refuse(origins, "parallel.dp_shard", p.dp_shard,
                 "dp_replicate {} x dp_shard {} = {} ranks, but the job has {}; start {} ranks (mpiexec -n {}) or "
                 "change the mesh (dp_shard 0 takes all)",
                 p.dp_replicate, p.dp_shard, p.dp_replicate * p.dp_shard, ranks, p.dp_replicate * p.dp_shard,
                 p.dp_replicate * p.dp_shard);
  }
  const std::int64_t sequences = config.train.micro_batch * ranks;
  if (config.train.global_batch % sequences != 0) {
    throw refuse(origins, "train.global_batch", config.train.global_batch,
                 "expected a multiple of micro_batch {} x {} data-parallel ranks = {}", config.train.micro_batch, ranks,
                 sequences);
  }
  return p;
}

}  // namespace octet

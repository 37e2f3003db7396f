#include "src/run_config/checks/checks.h"

#include "src/base/options/text.h"
#include "src/data/data_stages.h"
#include "src/optim/schedule.h"
#include "src/run_config/options/option_texts.h"
#include "src/run_config/options/resume_rules.h"
#include "src/run_config/options/run_options.h"

namespace octet {

void check_schedule(const RunConfig& c, const Origins& at) {
  const ScheduleConfig& s = c.schedule;
  const Decay decay = decay_of(s.kind);
  if (decay != Decay::last_steps && s.decay_steps > 0) {
    throw refuse(at, "schedule.decay_steps", s.decay_steps,
                 "has no effect with schedule.kind = {}; expected 0, or kind {}", s.kind,
                 kinds_with(Decay::last_steps));
  }
  if (decay != Decay::after_warm_up && s.decay_steps == 0 && s.min_lr_ratio > 0) {
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

void check_optimizer(const RunConfig& c, const Origins& at) {
  const OptimizerConfig& o = c.optimizer;
  if (o.clip_norm > 0 && o.clip_norm < 1e-30) {
    throw refuse(at, "optimizer.clip_norm", o.clip_norm, "expected 0 (no clipping) or at least 1e-30");
  }
  const bool of_gpu = c.device == DeviceType::cuda;
  const bool has_effect = of_gpu && o.beside_forward != AutoBool::no;
  const char* why = of_gpu ? "optimizer.beside_forward = false" : "device = cpu";
  if (!has_effect && o.beside_multiprocessors != 0) {
    throw refuse(at, "optimizer.beside_multiprocessors", o.beside_multiprocessors, "has no effect with {}; expected 0",
                 why);
  }
  if (!has_effect && o.beside_gemms != BesideGemms::automatic) {
    throw refuse(at, "optimizer.beside_gemms", o.beside_gemms, "has no effect with {}; expected auto", why);
  }
  if (has_effect && o.beside_gemms == BesideGemms::free && o.beside_forward != AutoBool::yes) {
    throw refuse(at, "optimizer.beside_gemms", o.beside_gemms,
                 "with optimizer.beside_forward = auto updates may stay where they are; expected auto or all, or "
                 "optimizer.beside_forward = true");
  }
}

void check_batch(const RunConfig& c, const Origins& at) {
  if (c.train.global_batch % c.train.micro_batch != 0) {
    throw refuse(at, "train.global_batch", c.train.global_batch, "expected a multiple of train.micro_batch = {}",
                 c.train.micro_batch);
  }
  // Kernels count the positions of a micro-batch in 32 bits. Both factors are below 2^31.
  constexpr std::int64_t most_tokens = (std::int64_t{1} << 31) - 1;
  if (const std::int64_t tokens = c.train.micro_batch * c.train.seq_len; tokens > most_tokens) {
    throw refuse(at, "train.micro_batch", c.train.micro_batch,
                 "with train.seq_len = {} that is {} tokens, expected at most {} in a micro-batch", c.train.seq_len,
                 tokens, most_tokens);
  }
  if (c.train.validate_every > 0 && c.data.validation_fraction == 0) {
    throw refuse(at, "train.validate_every", c.train.validate_every,
                 "there is nothing to validate on with data.validation_fraction = 0");
  }
}

void check_data(const RunConfig& c, const Origins& at) {
  if (!c.data.loss_on_first && !c.data.document_mask) {
    throw refuse(at, "data.loss_on_first", c.data.loss_on_first, "has no effect without data.document_mask = true");
  }
  if (c.data.train.empty()) return;  // a required option
  try {
    check_mixture(c.data);
  } catch (const Error& error) {
    std::string_view text = error.what();
    text.remove_prefix(text.find("data.", 1));
    const auto origin = at.find(text.starts_with("data.changes") ? "data.changes" : "data.train");
    throw usage_error("config", "{}: {}", origin == at.end() ? "default" : origin->second, text);
  }
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

void check_slow_ranks(const RunConfig& c, const Origins& at) {
  if (c.train.slow_rank_every != 0 || c.train.slow_rank_factor == TrainConfig().slow_rank_factor) return;
  throw refuse(at, "train.slow_rank_factor", c.train.slow_rank_factor, "has no effect with train.slow_rank_every = 0");
}

namespace {

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
      throw refuse(at, "checkpoint.allow_changes", in_quotes(key), "may never change in a run; expected of {}",
                   allowed_changes_text());
    }
  }
}

}  // namespace

void check_checkpoint(const RunConfig& c, const Origins& at) {
  const CheckpointConfig& k = c.checkpoint;
  using Kind = checkpoint::Interval::Kind;
  const auto interval = parse_interval(k.interval);
  if (!interval) throw refuse(at, "checkpoint.interval", in_quotes(k.interval), "expected {}", interval_forms);
  const bool off = interval->kind == Kind::off;
  if (off && k.test_write) {
    throw refuse(at, "checkpoint.test_write", k.test_write, "has no effect with checkpoint.interval = off");
  }
  if (!parse_interval(k.max_age)) {
    throw refuse(at, "checkpoint.max_age", in_quotes(k.max_age), "expected {}", interval_forms);
  }
  if (off && k.max_age != CheckpointConfig().max_age) {
    throw refuse(at, "checkpoint.max_age", in_quotes(k.max_age), "has no effect with checkpoint.interval = off");
  }
  // With interval off it may stay, so that this alone makes one run of a configuration save nothing.
  if (!off && interval->kind != Kind::automatic && k.failure_gpu_hours != CheckpointConfig().failure_gpu_hours) {
    throw refuse(at, "checkpoint.failure_gpu_hours", k.failure_gpu_hours,
                 "has no effect with checkpoint.interval = {}; expected interval auto", k.interval);
  }
  if (!parse_writers(k.writers_per_node)) {
    throw refuse(at, "checkpoint.writers_per_node", in_quotes(k.writers_per_node),
                 "expected all, or a number of ranks from 1");
  }
  check_allowed_changes(c, at);
  if (k.resume == Resume::must && c.run_dir.empty()) {
    throw refuse(at, "checkpoint.resume", k.resume, "there is nothing to resume in a new folder; expected run.dir");
  }
}

}  // namespace octet

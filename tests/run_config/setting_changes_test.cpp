#include "src/run_config/resume/setting_changes.h"

#include <gtest/gtest.h>

#include <functional>

#include "src/run_config/options/resume_rules.h"
#include "src/run_config/options/run_options.h"
#include "tests/run_config/english_run.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_has.h"

namespace octet {
namespace {

RunConfig some_settings() {
  return english_run({{"precision", "float8"}});
}

struct Checked {
  std::vector<SettingChange> changes;
  std::vector<std::string> unknown;
};

Checked check(const std::string& stored, const RunConfig& now) {
  Checked c;
  c.changes = check_settings(stored, "step-000010", now, c.unknown);
  return c;
}

using Change = std::function<void(RunConfig&)>;

TEST(Settings, TheSameAreNoChange) {
  const RunConfig config = some_settings();
  const Checked c = check(stored_yaml(config), config);
  EXPECT_TRUE(c.changes.empty());
  EXPECT_TRUE(c.unknown.empty());
}

TEST(Settings, WhatDecidesTheResultIsRefusedWithKeyAndBothValues) {
  struct Case {
    std::string key;
    Change change;
  };
  const std::vector<Case> table = {
      {"precision", [](RunConfig& c) { c.precision = Precision::bf16; }},
      {"run.seed", [](RunConfig& c) { c.seed = 99; }},
      {"train.seq_len", [](RunConfig& c) { c.train.seq_len *= 2; }},
      {"train.global_batch", [](RunConfig& c) { c.train.global_batch *= 2; }},
      {"data.validation_fraction", [](RunConfig& c) { c.data.validation_fraction = 0.5; }},
      {"data.document_mask", [](RunConfig& c) { c.data.document_mask = true; }},
      {"data.loss_on_first", [](RunConfig& c) { c.data.loss_on_first = false; }},
      {"optimizer.lr", [](RunConfig& c) { c.optimizer.lr *= 2; }},
      {"optimizer.no_decay", [](RunConfig& c) { c.optimizer.no_decay = {"norm"}; }},
      {"schedule.kind", [](RunConfig& c) { c.schedule.kind = ScheduleKind::constant; }},
      {"schedule.warmup_steps", [](RunConfig& c) { c.schedule.warmup_steps += 1; }},
      {"float8.all_gather", [](RunConfig& c) { c.float8.all_gather = AutoBool::no; }},
      {"float8.round_scales_to_power_of_two",
       [](RunConfig& c) { c.float8.round_scales_to_power_of_two = AutoBool::yes; }},
      {"float8.accumulate", [](RunConfig& c) { c.float8.accumulate = Float8Accumulate::hopper; }},
      {"float8.fast_accumulate", [](RunConfig& c) { c.float8.fast_accumulate = FastAccumulate::all; }},
      {"float8.bf16_linears", [](RunConfig& c) { c.float8.bf16_linears = {"w2"}; }},
      {"model_shape.layers", [](RunConfig& c) { c.model.layers += 1; }},
      {"model_shape.rope_theta", [](RunConfig& c) { c.model.rope_theta = 10000; }},
      {"model_shape.rope_scaling", [](RunConfig& c) { c.model.rope_scaling.kind = RopeScalingKind::llama3; }},
      {"model_shape.kv_heads", [](RunConfig& c) { c.model.kv_heads *= 2; }},
  };
  const RunConfig before = some_settings();
  for (const auto& [key, change] : table) {
    SCOPED_TRACE(key);
    RunConfig now = before;
    change(now);
    try {
      check(stored_yaml(before), now);
      ADD_FAILURE() << "not refused";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::usage);
      EXPECT_NE(std::string(e.what()).find("[config] step-000010: " + key + " = "), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(" there, "), std::string::npos) << e.what();
      const bool told = std::string(e.what()).find("--checkpoint.allow_changes " + key) != std::string::npos;
      EXPECT_EQ(told, may_be_allowed(key)) << e.what();
    }
  }
}

TEST(Settings, ChangesOfTheDataCanBeAllowedForWhatIsToCome) {
  const RunConfig before = some_settings();
  RunConfig now = before;
  now.data.changes = {{.step = 50, .weights = {1}}};
  EXPECT_HAS(test::error_of([&] { check(stored_yaml(before), now); }),
             "--checkpoint.allow_changes data.changes, which lets only steps that are not done change; ");
}

TEST(Settings, AllowChangesLetsThoseOfTheOptimizerPass) {
  const RunConfig before = some_settings();
  RunConfig now = before;
  now.optimizer.lr *= 2;
  now.precision = Precision::bf16;
  now.train.steps += 1;
  now.checkpoint.allow_changes = {"optimizer.lr", "precision"};
  std::vector<std::string> deciding;
  for (const SettingChange& c : check(stored_yaml(before), now).changes) {
    if (c.decides) deciding.push_back(c.key);
  }
  EXPECT_EQ(deciding, (std::vector<std::string>{"precision", "optimizer.lr"}));
  now.optimizer.beta1 = 0.5;
  EXPECT_THROW(check(stored_yaml(before), now), Error) << "beta1 is not named";
  now.optimizer.beta1 = before.optimizer.beta1;
  now.model.layers += 1;
  now.checkpoint.allow_changes.emplace_back("model_shape.layers");
  EXPECT_THROW(check(stored_yaml(before), now), Error) << "never";
}

TEST(Settings, WhatMayBeAllowed) {
  for (const char* key : {"precision", "data.document_mask", "data.loss_on_first", "optimizer.lr", "optimizer.no_decay",
                          "schedule.kind", "float8.recipe"}) {
    EXPECT_TRUE(may_be_allowed(key)) << key;
  }
  for (const char* key : {"run.seed", "train.global_batch", "train.seq_len", "data.validation_fraction",
                          "model_shape.vocab_size", "optimizer"}) {
    EXPECT_FALSE(may_be_allowed(key)) << key;
  }
}

TEST(Settings, WhatOnlySaysWhereAndHowFastMayChange) {
  const RunConfig before = some_settings();
  RunConfig now = before;
  now.model_name = "/elsewhere/5m.yaml";
  now.device = DeviceType::cuda;
  now.run_dir = "runs/other";
  now.train.steps += 1000;
  now.train.micro_batch = 1;
  now.train.log_every = 7;
  now.train.profile = "10-12";
  now.train.health_seconds = 5;
  now.train.max_wall_time = "1:00:00";
  now.data.train[0].path = "/elsewhere/english";
  now.parallel.dp_shard = 4;
  now.checkpoint.interval = "off";
  now.comm.timeout_seconds = 5;
  now.cpu.threads = 1;
  now.cuda.deterministic = true;
  std::vector<std::string> keys;
  for (const SettingChange& c : check(stored_yaml(before), now).changes) {
    keys.push_back(c.key);
    EXPECT_NE(c.then, c.now);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "model", "device", "run.dir", "train.steps", "train.micro_batch", "train.log_every",
                      "train.profile", "train.health_seconds", "train.max_wall_time", "data.train", "parallel.dp_shard",
                      "checkpoint.interval", "comm.timeout_seconds", "cpu.threads", "cuda.deterministic"}));
}

TEST(Settings, TheOldNameOfZeroIsTheSameSetting) {
  const RunConfig before = some_settings();
  std::string stored = stored_yaml(before);
  const std::string key = "zero: auto";
  ASSERT_NE(stored.find(key), std::string::npos);
  const auto changes_of = [&](const std::string& old, Zero zero) {
    RunConfig now = before;
    now.parallel.zero = zero;
    std::string text = stored;
    text.replace(text.find(key), key.size(), "reshard_after_forward: " + old);
    testing::internal::CaptureStderr();
    const Checked checked = check(text, now);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nobody writes that file";
    EXPECT_TRUE(checked.unknown.empty());
    return checked.changes;
  };
  EXPECT_TRUE(changes_of("never", Zero::two).empty());
  EXPECT_TRUE(changes_of("always", Zero::three).empty());
  EXPECT_TRUE(changes_of("auto", Zero::automatic).empty());
  for (const auto& [zero, same_bits] : {std::pair{Zero::two, true}, {Zero::one, false}}) {
    const std::vector<SettingChange> changes = changes_of("always", zero);
    ASSERT_EQ(changes.size(), 1u);
    EXPECT_EQ(changes[0].key, "parallel.zero");
    EXPECT_EQ(changes[0].then, "3");
    EXPECT_EQ(changes[0].same_bits, same_bits);
    EXPECT_FALSE(changes[0].decides);
  }
  RunConfig rounded = before;
  rounded.parallel.zero = Zero::one;
  rounded.parallel.whole_gradients = GradientForm::bf16;
  EXPECT_THROW(check(stored, rounded), Error);
  rounded.checkpoint.allow_changes = {"parallel.whole_gradients"};
  EXPECT_NO_THROW(check(stored, rounded));
}

TEST(Settings, WhatRoundsOtherwiseIsSaid) {
  const RunConfig before = some_settings();
  for (const char* key : {"device", "parallel.tp", "parallel.one_rank_exchange", "train.micro_batch", "cpu.gemm",
                          "cpu.threads", "float8.recipe", "parallel.async_tp"}) {
    EXPECT_FALSE(keeps_bits(key, before)) << key;
  }
  RunConfig on_gpu = before;
  on_gpu.device = DeviceType::cuda;
  for (const char* key : {"cuda.gemm", "cuda.gemm_plans", "cuda.attention", "cuda.deterministic"}) {
    EXPECT_FALSE(keeps_bits(key, on_gpu)) << key;
    EXPECT_TRUE(keeps_bits(key, before)) << key;
  }
  for (const char* key : {"cuda.graphs", "cpu.gemm", "cpu.threads"}) EXPECT_TRUE(keeps_bits(key, on_gpu)) << key;
  for (const char* key : {"optimizer.beside_forward", "optimizer.beside_multiprocessors", "optimizer.beside_gemms"}) {
    EXPECT_TRUE(keeps_bits(key, some_settings())) << key;
    EXPECT_FALSE(keeps_bits(key, on_gpu)) << key << ": GEMMs are chosen for other multiprocessors";
  }
  on_gpu.optimizer.beside_gemms = BesideGemms::all;
  EXPECT_TRUE(keeps_bits("optimizer.beside_forward", on_gpu));
  EXPECT_TRUE(keeps_bits("optimizer.beside_multiprocessors", on_gpu));
  EXPECT_FALSE(keeps_bits("optimizer.beside_gemms", on_gpu));
  EXPECT_TRUE(keeps_bits("cuda.document_attention", on_gpu)) << "rows are one document each";
  on_gpu.data.document_mask = true;
  EXPECT_FALSE(keeps_bits("cuda.document_attention", on_gpu));
  on_gpu.cuda.deterministic = true;
  EXPECT_TRUE(keeps_bits("cuda.document_attention", on_gpu)) << "there is one that is deterministic";
  for (const char* key : {"cpu.bind", "recompute.mode", "parallel.tp_keep_gathered", "parallel.overlap", "comm.trace",
                          "run.dir", "train.profile"}) {
    EXPECT_TRUE(keeps_bits(key, before)) << key;
  }
  const auto said = [&](const RunConfig& now) {
    const auto changes = check(stored_yaml(before), now).changes;
    testing::internal::CaptureStderr();
    log_changes(changes, {}, "step-000010");
    return testing::internal::GetCapturedStderr();
  };
  RunConfig now = before;
  now.train.log_every = before.train.log_every + 1;
  now.optimizer.lr *= 2;
  now.checkpoint.allow_changes = {"optimizer.lr"};
  EXPECT_EQ(said(now).find("not to the bit"), std::string::npos);
  now.cpu.gemm = cpu::GemmInputChoice::bf16;
  now.parallel.tp = 2;
  EXPECT_NE(said(now).find("since parallel.tp, cpu.gemm changed, losses go on within rounding, not to the bit"),
            std::string::npos);
}

/// One that a section gets later has to be put into the table too, or is refused.
TEST(Settings, SectionsOfBackendsMayNotChangeAsAWhole) {
  for (const char* key : {"cpu.other", "cuda.other"}) EXPECT_FALSE(may_change(key, some_settings())) << key;
}

TEST(Settings, ThoseOfFloat8MatterInFloat8Alone) {
  RunConfig before = some_settings();
  before.precision = Precision::bf16;
  RunConfig now = before;
  now.float8.all_gather = AutoBool::no;
  const auto changes = check(stored_yaml(before), now).changes;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_TRUE(changes[0].same_bits);
}

/// `auto` becomes true or false by the device's memory, and not on a CPU, nor where weights are let go.
TEST(Settings, WhetherTransposedWeightsAreKeptMayChange) {
  RunConfig before = some_settings();
  before.precision = Precision::float8;
  for (const AutoBool kept : {AutoBool::yes, AutoBool::no}) {
    RunConfig now = before;
    now.float8.keep_transposed_weights = kept;
    for (const auto& [stored, config] : {std::pair{before, now}, {now, before}}) {
      const auto changes = check(stored_yaml(stored), config).changes;
      ASSERT_EQ(changes.size(), 1u);
      EXPECT_TRUE(changes[0].same_bits);
      EXPECT_FALSE(changes[0].decides);
    }
  }
}

/// A new option must be put into the table of what may change, or be refused: nothing else is possible.
TEST(Settings, EveryOptionIsOneOrTheOther) {
  RunConfig config = some_settings();
  Schema schema;
  declare_stored_options(schema, config);
  std::string fixed;
  for (const Option& option : schema.options()) {
    if (!may_change(option.name(), config)) fixed += option.name() + " ";
  }
  const std::string expected =
      "precision run.seed train.seq_len train.global_batch "
      "data.changes data.validation_fraction data.document_mask data.loss_on_first "
      "optimizer.lr optimizer.beta1 optimizer.beta2 optimizer.eps optimizer.weight_decay optimizer.clip_norm "
      "optimizer.no_decay schedule.kind schedule.warmup_steps schedule.decay_steps schedule.min_lr_ratio "
      "parallel.whole_gradients parallel.gradient_wire "
      "float8.recipe float8.delayed_history float8.delayed_margin float8.delayed_algorithm float8.all_gather "
      "float8.round_scales_to_power_of_two float8.fast_accumulate float8.accumulate float8.bf16_linears "
      "float8.bf16_first_layers float8.bf16_last_layers float8.filter_small_kn "
      "model_shape.dim model_shape.layers model_shape.heads model_shape.kv_heads model_shape.head_dim "
      "model_shape.ffn_dim model_shape.vocab_size model_shape.rope_theta model_shape.rope_scaling "
      "model_shape.rope_factor model_shape.rope_low_freq_factor model_shape.rope_high_freq_factor "
      "model_shape.rope_original_positions model_shape.norm_eps model_shape.tied_embedding ";
  EXPECT_EQ(fixed, expected);
  EXPECT_TRUE(may_change("parallel.tp", config));
}

TEST(Settings, AKeyOfTheModelThatIsNewerThanTheCheckpointHadItsDefault) {
  const RunConfig before = some_settings();
  std::string stored = stored_yaml(before);
  const std::string key = "  rope_scaling: none\n";
  const std::size_t at = stored.find(key);
  ASSERT_NE(at, std::string::npos);
  stored.erase(at, key.size());
  EXPECT_TRUE(check(stored, before).changes.empty());
  RunConfig now = before;
  now.model.rope_scaling.kind = RopeScalingKind::llama3;
  EXPECT_THROW(check(stored, now), Error);
}

TEST(Settings, AnOptionThatIsNewerThanTheCheckpointHadItsDefault) {
  const RunConfig before = some_settings();
  std::string stored = stored_yaml(before);
  const std::string key = "  document_mask: false\n";
  const std::size_t at = stored.find(key);
  ASSERT_NE(at, std::string::npos);
  stored.erase(at, key.size());
  EXPECT_TRUE(check(stored, before).changes.empty());
  RunConfig now = before;
  now.data.document_mask = true;
  EXPECT_THROW(check(stored, now), Error);
  now.checkpoint.allow_changes = {"data.document_mask"};
  EXPECT_NO_THROW(check(stored, now));
}

TEST(Settings, OtherVersionsSayMoreOrLess) {
  const RunConfig now = some_settings();
  const Checked less = check("train:\n  global_batch: 8\n", now);
  EXPECT_TRUE(less.changes.empty());
  const Checked more = check("old: 1\ntrain:\n  older: 2\n  global_batch: 8\noldest:\n  key: 3\n", now);
  EXPECT_TRUE(more.changes.empty());
  EXPECT_EQ(more.unknown, (std::vector<std::string>{"old", "train.older", "oldest"}));
  EXPECT_THROW(check("train: [", now), Error);
}

}  // namespace
}  // namespace octet

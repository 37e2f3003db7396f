// Values that do not go together, in memory: what validate() and the layout refuse.
#include <algorithm>
#include <limits>

#include "src/ops/recipes/recipe_list.h"
#include "src/run_config/checks/checks.h"
#include "src/run_config/checks/layout.h"
#include "src/run_config/checks/validate.h"
#include "tests/run_config/english_run.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_parts.h"

namespace octet {
namespace {

using test::error_of;
using test::expect_parts;

TEST(Validate, ChecksValuesSetInMemory) {
  RunConfig c = english_run();
  validate(c);
  c.optimizer.lr = std::numeric_limits<double>::quiet_NaN();
  expect_parts(error_of([&] { validate(c); }), {"optimizer.lr = nan", ">= 0"});
  c = english_run();
  c.optimizer.clip_norm = 1e-50;  // 0 in fp32, which would be no clipping
  expect_parts(error_of([&] { validate(c); }), {"optimizer.clip_norm = 1e-50", "at least 1e-30"});
  c = english_run();
  c.schedule.kind = static_cast<ScheduleKind>(3);
  expect_parts(error_of([&] { validate(c); }), {"schedule.kind = ", "constant, wsd, cosine"});
  c = english_run();
  c.train.micro_batch = 0;
  expect_parts(error_of([&] { validate(c); }), {"train.micro_batch = 0"});
}

TEST(Validate, AWarmUpAndADecayFillAtMostTheRun) {
  RunConfig c = english_run();
  c.train.steps = 100;
  c.schedule = {.kind = ScheduleKind::wsd, .warmup_steps = 40, .decay_steps = 60};
  EXPECT_NO_THROW(validate(c));
  c.schedule.decay_steps = 61;
  expect_parts(error_of([&] { validate(c); }), {"schedule.decay_steps = 61", "= 101, expected at most"});
  c.schedule = {.kind = ScheduleKind::cosine, .warmup_steps = 100};
  EXPECT_NO_THROW(validate(c));
  c.schedule.warmup_steps = 101;
  expect_parts(error_of([&] { validate(c); }), {"schedule.warmup_steps = 101", "expected at most train.steps = 100"});
}

TEST(Validate, RecomputeNeedsTwoBlocks) {
  RunConfig c = english_run();
  c.recompute.mode = RecomputeMode::full;
  validate(c);
  c.recompute.every = c.model.layers / 2;
  validate(c);
  ++c.recompute.every;
  expect_parts(error_of([&] { validate(c); }), {"recompute.every", "fewer than two"});
  c.recompute.every = 1;
  c.model.layers = 1;
  expect_parts(error_of([&] { validate(c); }), {"recompute.mode = full", "fewer than two of 1 blocks"});
}

TEST(Validate, RecomputeKeepsTheCastWhereThereIsOne) {
  RunConfig c = english_run();
  c.recompute = {.mode = RecomputeMode::selective, .keep = {"attention_output", "attention_cast"}};
  c.precision = Precision::float8;
  validate(c);
  c.float8.bf16_linears = {"attention.wo"};
  expect_parts(error_of([&] { validate(c); }), {"recompute.keep = \"attention_cast\"", "no effect"});
}

/// Each extent that a layout can make odd, under each recipe, is named with its linear, its GEMM and what would do.
TEST(Validate, Float8NeedsMultiplesOf16) {
  struct Row {
    void (*change)(RunConfig&);
    std::vector<std::string> parts;  ///< of the message; none: allowed
    bool async = false;              ///< a row of parallel.async_tp, which rowwise recipes have not
  };
  const std::vector<Row> table = {
      {[](RunConfig&) {}, {}},
      {[](RunConfig& c) { c.model.ffn_dim = 700; },
       {"precision = float8: linear feed_forward.w1, GEMM output of m", "n = 700 (outputs of model 5m)",
        "multiples of 16",
        "float8.bf16_linears [feed_forward.w1, feed_forward.w3, feed_forward.w2] would do, or a model of another "
        "shape"}},
      {[](RunConfig& c) {
         c.model.ffn_dim = 700, c.float8.bf16_linears = {"w1", "w3"};
       },
       {"linear feed_forward.w2, GEMM output of m", "k = 700 (inputs of model 5m)",
        "float8.bf16_linears [w1, w3, feed_forward.w2] would do"}},
      {[](RunConfig& c) { c.model.ffn_dim = 700, c.float8.bf16_linears = {"feed_forward"}; }, {}},
      {[](RunConfig& c) { c.model.head_dim = 66; }, {"linear attention.wq", "n = 264 (outputs of model 5m)"}},
      {[](RunConfig& c) { c.model.ffn_dim = 784, c.parallel.tp = 2; },
       {"linear feed_forward.w1", "n = 392 (outputs of model 5m a rank with parallel.tp 2)", "or parallel.tp 1"}},
      {[](RunConfig& c) { c.train.micro_batch = 1, c.train.seq_len = 40; },
       {"linear attention.wq", "m = 40 (tokens, train.micro_batch 1 x train.seq_len 40)", "train.seq_len 48 would do"}},
      {[](RunConfig& c) { c.train.micro_batch = 2, c.train.seq_len = 40; }, {}},
      {[](RunConfig& c) { c.train.micro_batch = 1, c.train.seq_len = 48, c.parallel.tp = 2; }, {}},
      {[](RunConfig& c) {
         c.train.micro_batch = 1, c.train.seq_len = 48, c.parallel.tp = 2, c.parallel.async_tp = true;
       },
       {"parallel.async_tp = true: linear attention.wq, GEMM output of m 24", "m = 24 (tokens of a part, ",
        "train.seq_len 48 / parallel.tp 2)", "train.seq_len 64 would do, or parallel.async_tp false"},
       true},
      {[](RunConfig& c) {
         c.train.micro_batch = 1, c.train.seq_len = 64, c.parallel.tp = 2, c.parallel.async_tp = true;
       },
       {},
       true},
  };
  for (const std::string& recipe : float8_recipe_names()) {
    if (float8_recipe({.recipe = recipe})->multiple() != 16) continue;  // blockwise, below
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (table[i].async && float8_recipe({.recipe = recipe})->casts_where_read()) continue;
      SCOPED_TRACE(fmt::format("{}, row {}", recipe, i));
      RunConfig c = english_run();
      c.precision = Precision::float8;
      c.float8.recipe = recipe;
      table[i].change(c);
      if (table[i].parts.empty()) {
        validate(c);
        c.precision = Precision::bf16;
        c.float8 = {};
        validate(c);
      } else {
        expect_parts(error_of([&] { validate(c); }), table[i].parts);
      }
    }
  }
}

/// What a refusal says would do, does.
TEST(Validate, WeightsThatDoNotFitAreToldBeforeTokensAndNeverToKeepAllLinearsInBf16) {
  RunConfig c = english_run();
  c.precision = Precision::float8;
  c.model.dim = 40, c.model.heads = 4, c.model.head_dim = 10, c.model.kv_heads = 4;  // no linear has a weight that fits
  c.train.micro_batch = 1;
  c.train.seq_len = 33;  // nor do the tokens
  const auto refusal = [&] { return error_of([&] { validate(c); }); };
  expect_parts(refusal(), {"n = 40 (outputs of model 5m)", "16; precision bf16 would do, or a model of another shape"});
  EXPECT_EQ(refusal().find("bf16_linears"), std::string::npos);
  c.model = english_run().model;
  c.model.dim = 64, c.model.heads = 4, c.model.head_dim = 16, c.model.kv_heads = 2, c.model.ffn_dim = 128;
  c.float8.recipe = "blockwise";
  c.train.seq_len = 32;
  expect_parts(refusal(), {"n = 64 (outputs of model 5m)",
                           "128; a recipe that needs multiples of 16 would do, or precision bf16"});
  c.float8.recipe = "tensorwise";
  validate(c);
  // Where a linear fits, the others may stay in bf16, beside those that do already.
  c.float8.recipe = "blockwise";
  c.train.seq_len = 128;
  c.model.dim = 128, c.model.head_dim = 32;
  c.float8.bf16_linears = {"wv"};
  expect_parts(refusal(), {"n = 64 (outputs", "; float8.bf16_linears [wv, attention.wk] would do, or a model of"});
  c.float8.bf16_linears = {"wv", "attention.wk"};
  validate(c);
}

/// Scales of 128 values: the 5m model has multiples of 128 but for what tensor parallelism makes of its kv heads.
TEST(Validate, BlockwiseNeedsMultiplesOf128) {
  RunConfig c = english_run();
  c.precision = Precision::float8;
  c.float8.recipe = "blockwise";
  c.train.micro_batch = 1;
  c.train.seq_len = 256;
  validate(c);
  const RunConfig allowed = c;
  c.train.seq_len = 192;
  expect_parts(error_of([&] { validate(c); }), {"m = 192 (tokens", "multiples of 128", "train.seq_len 256 would do"});
  c = allowed;
  c.parallel.tp = 2;
  expect_parts(error_of([&] { validate(c); }), {"linear attention.wk", "n = 64 (outputs of model 5m a rank", "128"});
  c = allowed;
  c.float8.accumulate = Float8Accumulate::hopper_fast;
  expect_parts(error_of([&] { validate(c); }),
               {"float8.accumulate = hopper_fast", "promotes its sums to fp32 every 128 products"});
  c.float8.accumulate = Float8Accumulate::hopper;
  validate(c);
  c.float8.fast_accumulate = FastAccumulate::all;
  expect_parts(error_of([&] { validate(c); }),
               {"float8.fast_accumulate = all", "promotes its sums to fp32 every 128 products"});
  c.float8.recipe = "tensorwise";
  validate(c);
  c.float8.accumulate = Float8Accumulate::fp32;
  c.device = DeviceType::cuda;
  validate(c);
}

TEST(Validate, GpusThatHaveTheGemmsOfARecipe) {
  RunConfig c = english_run();
  struct Row {
    const char* recipe;
    std::vector<int> has, has_not;
  };
  for (const Row& row : {Row{"tensorwise", {89, 90, 100}, {80, 86}}, Row{"delayed", {89, 90, 120}, {75}},
                         Row{"rowwise", {90, 100}, {80}}, Row{"blockwise", {90}, {80, 89, 100, 120}}}) {
    c.precision = Precision::float8;
    c.float8.recipe = row.recipe;
    for (const int capability : row.has) EXPECT_NO_THROW(check_gpu(c, capability, {})) << row.recipe << capability;
    for (const int capability : row.has_not) {
      expect_parts(error_of([&] { check_gpu(c, capability, {}); }),
                   {fmt::format("float8.recipe = {}: ", row.recipe),
                    fmt::format("this GPU has {}.{}", capability / 10, capability % 10),
                    capability < 89 ? "expected precision bf16" : "expected another recipe"});
    }
    c.precision = Precision::bf16;
    EXPECT_NO_THROW(check_gpu(c, 80, {}));
  }
}

TEST(Validate, Float8Choices) {
  RunConfig c = english_run();
  using enum AutoBool;
  struct Row {
    const char* recipe;
    AutoBool all_gather, power;
    bool gathers, rounds;
  };
  for (const Row& row :
       {Row{"tensorwise", automatic, automatic, true, false}, Row{"tensorwise", no, yes, false, true},
        Row{"tensorwise", yes, no, true, false}, Row{"rowwise", automatic, automatic, false, true},
        Row{"rowwise", no, no, false, false}, Row{"rowwise_with_gw_hp", automatic, automatic, false, true}}) {
    c.float8.recipe = row.recipe;
    c.float8.all_gather = row.all_gather;
    c.float8.round_scales_to_power_of_two = row.power;
    validate(c);
    EXPECT_EQ(float8_recipe(c.float8)->gathers_float8(), row.gathers) << row.recipe << " " << name_of(row.all_gather);
    EXPECT_EQ(float8_recipe(c.float8)->power_of_two(), row.rounds) << row.recipe << " " << name_of(row.power);
  }
}

TEST(Validate, AttentionEndsAtItsWidestHead) {
  RunConfig c = english_run();
  c.model.head_dim = 256;
  validate(c);
  c.model.head_dim = 288;
  for (const DeviceType device : {DeviceType::cpu, DeviceType::cuda}) {
    c.device = device;
    expect_parts(error_of([&] { validate(c); }),
                 {"model = 5m", "head_dim 288", fmt::format("on device {} serves at most 256", device)});
  }
}

TEST(Layout, ResolvesAndRefuses) {
  RunConfig c = english_run();
  c.train.global_batch = 24;
  c.train.micro_batch = 2;
  EXPECT_EQ(resolve_layout(c, 3).dp_shard, 3);
  c.float8.keep_transposed_weights = AutoBool::yes;
  expect_parts(error_of([&] { resolve_layout(c, 3); }),
               {"float8.keep_transposed_weights = true", "weights are let go after each use", "parallel.zero 1 or 2"});
  c.parallel.zero = Zero::two;
  EXPECT_EQ(resolve_layout(c, 3).dp_shard, 3);
  c.float8.keep_transposed_weights = AutoBool::automatic;
  c.parallel.zero = Zero::automatic;
  c.parallel.dp_replicate = 2;
  EXPECT_EQ(resolve_layout(c, 4).dp_shard, 2);
  expect_parts(error_of([&] { resolve_layout(c, 3); }), {"parallel.dp_replicate = 2", "3 ranks"});
  c.parallel.dp_shard = 4;
  expect_parts(error_of([&] {
                 resolve_layout(c, 4, {{"parallel.dp_shard", "command line"}});
               }),
               {"command line: parallel.dp_shard = 4", "2 x dp_shard 4 = 8 ranks, but the job has 4", "mpiexec -n 8"});
  c.parallel = {};
  expect_parts(error_of([&] { resolve_layout(c, 8); }), {"train.global_batch = 24", "micro_batch 2 x 8", "= 16"});
}

TEST(Layout, RefusesWholeGradientsThatNobodyKeeps) {
  RunConfig c = english_run();
  c.train.global_batch = 24;
  c.train.micro_batch = 2;
  c.parallel.whole_gradients = GradientForm::bf16;
  for (const Zero zero : {Zero::automatic, Zero::two, Zero::three}) {
    c.parallel.zero = zero;
    expect_parts(error_of([&] { validate(c); }),
                 {"parallel.whole_gradients = bf16", fmt::format("has no effect with parallel.zero = {}", zero),
                  "expected fp32, or parallel.zero 1"});
  }
  c.parallel.zero = Zero::one;
  EXPECT_NO_THROW(validate(c));
  EXPECT_EQ(resolve_layout(c, 3).dp_shard, 3);
  expect_parts(error_of([&] { resolve_layout(c, 1); }),
               {"parallel.whole_gradients = bf16", "parallel.dp_shard = 1", "expected fp32"});
  expect_parts(error_of([&] { resolve_layout(c, 12); }),
               {"parallel.whole_gradients = bf16", "one micro-batch a step", "expected fp32"});
  c.parallel.one_rank_exchange = true;
  EXPECT_NO_THROW(resolve_layout(c, 1));
  c.parallel.whole_gradients = GradientForm::fp32;
  EXPECT_NO_THROW(resolve_layout(c, 1)) << "zero 1 of one shard is 2";
}

/// Replicas exchange after the passes alone.
TEST(Layout, RefusesGraphsOfPassesThatCannotBeOne) {
  RunConfig c = english_run();
  c.device = DeviceType::cuda;
  c.precision = Precision::float8;
  c.graphs = AutoBool::yes;
  EXPECT_NO_THROW(resolve_layout(c, 1));
  c.parallel.dp_replicate = 4;
  EXPECT_NO_THROW(resolve_layout(c, 4));
  const auto expect_refused = [&](const RunConfig& config, int ranks, const std::string& why) {
    expect_parts(error_of([&] {
                   resolve_layout(config, ranks, {{"cuda.graphs", "command line"}});
                 }),
                 {"command line: cuda.graphs = true", why, "expected auto or false"});
    RunConfig automatic = config;
    automatic.graphs = AutoBool::automatic;
    EXPECT_NO_THROW(resolve_layout(automatic, ranks));
  };
  c.parallel = {};
  expect_refused(c, 2, "parallel.dp_shard = 2");
  RunConfig other = c;
  other.parallel.tp = 2;
  expect_refused(other, 2, "parallel.tp = 2");
  other = c;
  other.parallel.one_rank_exchange = true;
  expect_refused(other, 1, "parallel.one_rank_exchange");
  other = c;
  other.parallel.zero = Zero::three;
  expect_refused(other, 1, "parallel.zero = 3");
  other = c;
  other.float8.all_gather = AutoBool::no;
  expect_refused(other, 1, "float8.all_gather = false");
  other.precision = Precision::bf16;
  EXPECT_NO_THROW(resolve_layout(other, 1)) << "of no effect there";
  other = c;
  other.optimizer.beside_forward = AutoBool::yes;
  expect_refused(other, 1, "optimizer.beside_forward = true");
}

TEST(Validate, RefusesRoomForAnUpdateThatMayStayWhereItIs) {
  RunConfig c = english_run();
  c.device = DeviceType::cuda;
  c.optimizer.beside_gemms = BesideGemms::free;
  for (const AutoBool beside : {AutoBool::no, AutoBool::automatic}) {
    c.optimizer.beside_forward = beside;
    expect_parts(
        error_of([&] { validate(c); }),
        {"optimizer.beside_gemms = free", fmt::format("optimizer.beside_forward = {}", beside), "expected auto"});
  }
  c.optimizer.beside_forward = AutoBool::yes;
  EXPECT_NO_THROW(validate(c));
}

/// What a message about a recipe proposes are all those that the rule takes, and no others.
TEST(Validate, ProposesTheRecipesThatARuleTakes) {
  const auto expect_takes_the_proposed = [](RunConfig c, const std::string& message, const char* origin) {
    const std::vector<std::string> first = float8_recipes_where(&Recipe::casts_first);
    for (const std::string& recipe : float8_recipe_names()) {
      c.float8.recipe = recipe;
      if (std::ranges::find(first, recipe) != first.end()) {
        EXPECT_NO_THROW(validate(c)) << recipe;
      } else if (recipe != "blockwise") {  // refused for its extents too
        expect_parts(error_of([&] { validate(c); }), {origin, message});
      }
    }
  };
  RunConfig c = english_run();
  c.precision = Precision::float8;
  c.float8.all_gather = AutoBool::yes;
  expect_takes_the_proposed(c, "expected auto or false, or recipe tensorwise or delayed", "float8.all_gather = true");
  c.float8.all_gather = AutoBool::automatic;
  c.parallel.tp = 2;
  c.parallel.async_tp = true;
  expect_takes_the_proposed(c, "expected tensorwise or delayed, or false", "parallel.async_tp = true");
}

/// Ranks with pieces of one weight exchange its abs-max after the update, where a recipe computes its scale then.
TEST(Layout, RefusesAnUpdateBesideTheForwardPassBeforeAnExchange) {
  RunConfig c = english_run();
  c.optimizer.beside_forward = AutoBool::yes;
  const auto expect_refused = [&](const RunConfig& config, int ranks, const std::string& who) {
    expect_parts(error_of([&] {
                   resolve_layout(config, ranks, {{"optimizer.beside_forward", "command line"}});
                 }),
                 {"command line: optimizer.beside_forward = true", who,
                  "expected auto or false, or another recipe: rowwise, rowwise_with_gw_hp, delayed or blockwise"});
    RunConfig automatic = config;
    automatic.optimizer.beside_forward = AutoBool::automatic;
    EXPECT_NO_THROW(resolve_layout(automatic, ranks));
  };
  c.precision = Precision::bf16;
  EXPECT_NO_THROW(resolve_layout(c, 2));
  c.precision = Precision::float8;
  EXPECT_NO_THROW(resolve_layout(c, 1));
  expect_refused(c, 2, "the 2 ranks that share a weight (dp_shard 2 x tp 1)");
  c.parallel.tp = 2;
  expect_refused(c, 4, "the 4 ranks that share a weight (dp_shard 2 x tp 2)");
  for (const char* recipe : {"rowwise", "rowwise_with_gw_hp", "blockwise", "delayed"}) {
    c.float8.recipe = recipe;
    EXPECT_NO_THROW(resolve_layout(c, 4)) << recipe;
  }
  c.float8.recipe = "tensorwise";
  c.parallel = {.dp_replicate = 4};
  EXPECT_NO_THROW(resolve_layout(c, 4)) << "replicas share no weight's pieces";
}

}  // namespace
}  // namespace octet

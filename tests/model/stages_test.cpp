// Several micro-batches in flight, and the model cut into stages: the bits of one after the other on the whole model.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "tests/model/local_state.h"

namespace octet {
namespace {

constexpr std::int64_t sequences = 2, row_tokens = 16, tokens_count = sequences * row_tokens;
constexpr float loss_scale = 1.0f / static_cast<float>(tokens_count);

struct Case {
  std::string name;
  Precision precision = Precision::fp32;
  RecomputeConfig recompute{};
  Float8Config float8{};
};

std::vector<Case> cases() {
  return {
      {"fp32", Precision::fp32},
      {"bf16_full", Precision::bf16, {.mode = RecomputeMode::full}},
      {"float8", Precision::float8},
      {"float8_ffn_every_2",
       Precision::float8,
       {.mode = RecomputeMode::selective, .preset = RecomputePreset::ffn, .every = 2}},
      {"rowwise_full", Precision::float8, {.mode = RecomputeMode::full}, {.recipe = "rowwise"}},
      {"delayed_full_every_2", Precision::float8, {.mode = RecomputeMode::full, .every = 2}, {.recipe = "delayed"}}};
}

LlamaSettings settings_of(const Case& c, bool tied = false) {
  return {.model = test::small_model(tied),
          .precision = c.precision,
          .float8 = c.float8,
          .micro_batch = sequences,
          .seq_len = row_tokens,
          .recompute = c.recompute};
}

std::vector<std::int32_t> ids(std::uint32_t stream) {
  std::vector<std::int32_t> all;
  for (std::uint64_t i = 0; i < tokens_count; ++i) {
    all.push_back(static_cast<std::int32_t>(random_bits({.seed = 5, .stream = stream}, i) % 48));
  }
  return all;
}

/// A micro-batch with weights and gradients of its own.
struct Work {
  Work(const Llama& llama, std::uint32_t number)
      : state(llama.parameters()), tokens(ids(2 * number)), targets(ids(2 * number + 1)) {
    std::vector<int> order = llama.forward_units();
    for (const int unit : llama.backward_units()) order.push_back(unit);
    state.begin_pass(order);
  }
  MicroBatch batch() { return {tokens.data(), targets.data(), loss_scale, &loss}; }

  test::LocalState state;
  std::vector<std::int32_t> tokens, targets;
  float loss = 0;
};

struct Model {
  explicit Model(const LlamaSettings& s) : settings(s), llama(settings, *stream, exchange, nullptr) {}
  void forward(int slot, Work& work) { llama.forward(slot, work.batch(), work.state, &work.state); }
  void backward(int slot, Work& work) { llama.backward(slot, work.state, work.state); }
  Work run(std::uint32_t number) {
    Work work(llama, number);
    llama.begin(0);
    forward(0, work);
    backward(0, work);
    EXPECT_TRUE(work.state.pass_done());
    return work;
  }

  LlamaSettings settings;
  std::unique_ptr<Stream> stream = cpu_device().make_stream();
  NoExchange exchange;
  Llama llama;
};

/// Of a recipe that remembers the second step needs most, in which scales are known before the values; tests here do
/// one step (KMajor.MemoryIsPlannedAsUsed does two).
void expect_planned_scratch(const Llama::MemoryNeeds& used, const Llama::MemoryNeeds& planned, const Case& c) {
  if (c.float8.recipe == "delayed") {
    EXPECT_LE(used.scratch, planned.scratch);
  } else {
    EXPECT_EQ(used.scratch, planned.scratch);
  }
}

void expect_same(const Work& a, const Work& b, const ParameterList& list) {
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_GT(a.loss, 0);
  for (std::size_t i = 0; i < list.parameters.size(); ++i) {
    EXPECT_TRUE(test::same_bits(a.state.gradients[i], b.state.gradients[i])) << list.parameters[i].name;
  }
}

struct InFlight : testing::TestWithParam<Case> {};

TEST_P(InFlight, TwoMicroBatchesHaveTheirOwnBits) {
  Model alone(settings_of(GetParam()));
  LlamaSettings two = settings_of(GetParam());
  two.slots = 2;
  Model both(two);
  const Work first = alone.run(0), second = alone.run(1);
  for (const bool last_first : {false, true}) {  // which backward finds what its forward left in shared memory
    Work a(both.llama, 0), b(both.llama, 1);
    both.llama.begin(0);
    both.forward(0, a);
    both.llama.begin(1);
    both.forward(1, b);
    last_first ? both.backward(1, b) : both.backward(0, a);
    last_first ? both.backward(0, a) : both.backward(1, b);
    expect_same(a, first, alone.llama.parameters());
    expect_same(b, second, alone.llama.parameters());
  }
}

/// Weight gradients come when another micro-batch has done its own, and what inputs' gradients need none of them.
TEST_P(InFlight, BackwardInTwoPartsHasTheBitsOfOne) {
  Model alone(settings_of(GetParam()));
  LlamaSettings two = settings_of(GetParam());
  two.slots = 2;
  two.split_backward = true;
  Model both(two);
  const Work first = alone.run(0), second = alone.run(1);
  Work a(both.llama, 0), b(both.llama, 1);
  both.llama.begin(0);
  both.forward(0, a);
  both.llama.begin(1);
  both.forward(1, b);
  both.llama.backward_of_inputs(0, a.state, a.state);
  EXPECT_THROW(both.llama.begin(0), Error);
  EXPECT_THROW(both.backward(0, a), Error);
  both.llama.backward_of_inputs(1, b.state, b.state);
  both.llama.backward_of_weights(0, a.state);
  both.llama.backward_of_weights(1, b.state);
  expect_same(a, first, alone.llama.parameters());
  expect_same(b, second, alone.llama.parameters());
  const Llama::MemoryNeeds planned = Llama::plan(two, *both.stream), used = both.llama.used();
  EXPECT_EQ(used.activations, planned.activations);
  EXPECT_LE(used.scratch, planned.scratch);
  EXPECT_EQ(used.recomputed, planned.recomputed);
  // A place of the residual stream's size, and small ones for scales and norms.
  const std::int64_t stream = sequences * row_tokens * 32 * 4, small = 3 * 9 * 256;
  EXPECT_LE(planned.activations, Llama::plan(settings_of(GetParam()), *both.stream).activations + stream + small);
}

TEST_P(InFlight, ThePlanCountsEverySlot) {
  LlamaSettings three = settings_of(GetParam());
  const auto stream = cpu_device().make_stream();
  const Llama::MemoryNeeds one = Llama::plan(three, *stream);
  three.slots = 3;
  const Llama::MemoryNeeds each = Llama::plan(three, *stream);
  EXPECT_EQ(each.activations, one.activations);
  EXPECT_EQ(each.recomputed, one.recomputed);
  const std::int64_t before = cpu_device().ledger().usage(Purpose::activations).now;
  Model model(three);
  EXPECT_EQ(cpu_device().ledger().usage(Purpose::activations).now - before, 3 * one.activations + one.recomputed);
  Work a(model.llama, 0), b(model.llama, 1), c(model.llama, 2);
  int slot = 0;
  for (Work* work : {&a, &b, &c}) {
    model.llama.begin(slot);
    model.forward(slot++, *work);
  }
  for (Work* work : {&c, &b, &a}) model.backward(--slot, *work);
  EXPECT_EQ(model.llama.used().activations, each.activations);
  EXPECT_EQ(model.llama.used().recomputed, each.recomputed);
  expect_planned_scratch(model.llama.used(), each, GetParam());
}

/// The whole model, and the same in two stages with the border before block `border`.
struct TwoStages {
  static LlamaSettings stage(LlamaSettings s, int begin, int end) {
    s.stages = {{begin, end}};
    return s;
  }
  TwoStages(const LlamaSettings& s, std::int64_t border)
      : lower(stage(s, embedding_unit, block_unit(border))),
        upper(stage(s, block_unit(border), head_unit(s.model) + 1)) {}

  static void hand_over(const Tensor& from, const Tensor& to) {
    std::memcpy(to.data, from.data, static_cast<std::size_t>(from.bytes()));
  }
  void forward(int slot, Work& below, Work& above) {
    lower.llama.begin(slot);
    lower.forward(slot, below);
    hand_over(lower.llama.out(slot), upper.llama.begin(slot));
    upper.forward(slot, above);
  }
  void backward(int slot, Work& below, Work& above) {
    upper.backward(slot, above);
    hand_over(upper.llama.out(slot), lower.llama.out(slot));
    lower.backward(slot, below);
  }
  float evaluate(Work& below, Work& above) {
    below.state.begin_pass(lower.llama.forward_units());
    above.state.begin_pass(upper.llama.forward_units());
    lower.llama.begin(0, PassMode::forward_only);
    lower.llama.forward(0, below.batch(), below.state, nullptr);
    hand_over(lower.llama.out(0), upper.llama.begin(0, PassMode::forward_only));
    float loss = 0;
    upper.llama.forward(0, {.targets = above.targets.data(), .loss_sum = &loss}, above.state, nullptr);
    return loss;
  }
  /// Of both, the gradients of the whole model by id; of a tied embedding the sum.
  std::vector<std::vector<float>> gradients(const Work& below, const Work& above) const {
    std::vector<std::vector<float>> all(lower.llama.parameters().ids);
    for (const auto& [work, llama] : {std::pair{&below, &lower.llama}, std::pair{&above, &upper.llama}}) {
      for (std::size_t i = 0; i < llama->parameters().parameters.size(); ++i) {
        std::vector<float>& sum = all[llama->parameters().parameters[i].id];
        const std::vector<float>& part = work->state.gradients[i];
        if (sum.empty()) sum.resize(part.size(), 0.0f);
        for (std::size_t e = 0; e < part.size(); ++e) sum[e] += part[e];
      }
    }
    return all;
  }

  Model lower, upper;
};

struct Stages : testing::TestWithParam<Case> {};

TEST_P(Stages, AreTogetherTheWholeModel) {
  for (const std::int64_t border : {1, 2}) {
    LlamaSettings s = settings_of(GetParam());
    Model whole(s);
    s.slots = 2;
    TwoStages stages(s, border);
    EXPECT_EQ(stages.lower.llama.parameters().parameters.size() + stages.upper.llama.parameters().parameters.size(),
              whole.llama.parameters().parameters.size());
    Work below0(stages.lower.llama, 0), above0(stages.upper.llama, 0), below1(stages.lower.llama, 1),
        above1(stages.upper.llama, 1);
    stages.forward(0, below0, above0);
    stages.forward(1, below1, above1);
    stages.backward(0, below0, above0);
    stages.backward(1, below1, above1);
    std::uint32_t number = 0;
    for (const auto& [below, above] : {std::pair{&below0, &above0}, std::pair{&below1, &above1}}) {
      Work expected = whole.run(number++);
      EXPECT_EQ(below->loss, 0);
      EXPECT_EQ(above->loss, expected.loss);
      EXPECT_TRUE(below->state.pass_done() && above->state.pass_done());
      const auto gradients = stages.gradients(*below, *above);
      for (std::size_t id = 0; id < gradients.size(); ++id) {
        // + 0 as the sum above has it
        for (float& g : expected.state.gradients[id]) g += 0.0f;
        EXPECT_TRUE(test::same_bits(gradients[id], expected.state.gradients[id]))
            << whole.llama.parameters().parameters[id].name << ", border " << border;
      }
      EXPECT_EQ(stages.evaluate(*below, *above), expected.loss);
    }
    for (const Model* stage : {&stages.lower, &stages.upper}) {
      const Llama::MemoryNeeds planned = Llama::plan(stage->settings, *stage->stream), used = stage->llama.used();
      EXPECT_EQ(used.activations, planned.activations);
      expect_planned_scratch(used, planned, GetParam());
      EXPECT_EQ(used.recomputed, planned.recomputed);
      EXPECT_LT(planned.activations, Llama::plan(settings_of(GetParam()), *stage->stream).activations);
    }
  }
}

/// As a rank has them whose stages are not neighbours.
TEST_P(Stages, OneModelMayHaveSeveral) {
  LlamaSettings s = settings_of(GetParam());
  Model whole(s);
  s.slots = 2;
  s.stages = {{embedding_unit, block_unit(1)}, {block_unit(1), head_unit(s.model) + 1}};
  Model both(s);
  Llama& llama = both.llama;
  EXPECT_EQ(llama.parameters().parameters.size(), whole.llama.parameters().parameters.size());
  const Work expected = whole.run(0);
  Work work(whole.llama, 0);
  std::vector<int> order;
  for (const auto& units :
       {llama.forward_units(0), llama.forward_units(1), llama.backward_units(1), llama.backward_units(0)}) {
    order.insert(order.end(), units.begin(), units.end());
  }
  work.state.begin_pass(order);
  llama.begin(0, PassMode::training, 0);
  both.forward(0, work);
  TwoStages::hand_over(llama.out(0), llama.begin(1, PassMode::training, 1));
  both.forward(1, work);
  both.backward(1, work);
  TwoStages::hand_over(llama.out(1), llama.out(0));
  both.backward(0, work);
  EXPECT_TRUE(work.state.pass_done());
  expect_same(work, expected, whole.llama.parameters());
  const Llama::MemoryNeeds planned = Llama::plan(s, *both.stream);
  EXPECT_EQ(llama.used().activations, planned.activations);
  EXPECT_EQ(llama.used().recomputed, planned.recomputed);
  expect_planned_scratch(llama.used(), planned, GetParam());
}

/// A gradient may still be leaving from there when a stage that has more blocks, and so more abs-maxes, takes the slot.
TEST_P(Stages, OfAnyNumberOfBlocksLeaveTheirGradientAtOnePlace) {
  LlamaSettings s = settings_of(GetParam());
  s.model.layers = 9;
  s.stages = {{embedding_unit, block_unit(1)}, {block_unit(1), head_unit(s.model) + 1}};
  Model both(s);
  const auto place = [&](int stage) {
    both.llama.begin(0, PassMode::training, stage);
    return both.llama.out(0).data;
  };
  const void* const small = place(0);
  EXPECT_EQ(place(1), small);
}

TEST_P(Stages, ATiedEmbeddingsGradientIsTheSumOfBothEnds) {
  const LlamaSettings s = settings_of(GetParam(), true);
  Model whole(s);
  const Work expected = whole.run(0);
  TwoStages stages(s, 1);
  Work below(stages.lower.llama, 0), above(stages.upper.llama, 0);
  stages.forward(0, below, above);
  stages.backward(0, below, above);
  EXPECT_EQ(above.loss, expected.loss);
  EXPECT_EQ(stages.upper.llama.parameters().parameters.front().id, 0U);
  const auto gradients = stages.gradients(below, above);
  EXPECT_LT(test::distance(gradients[0], expected.state.gradients[0]), 1e-6);
  EXPECT_GT(test::distance(below.state.gradients[0], expected.state.gradients[0]), 1e-2) << "the head's part counts";
}

TEST(StageOrder, WhatDoesNotFollowIsRefused) {
  Model model(settings_of(cases()[0]));
  Work work(model.llama, 0);
  EXPECT_THROW(model.backward(0, work), Error);
  EXPECT_THROW(model.forward(0, work), Error);
  model.llama.begin(0);
  model.forward(0, work);
  EXPECT_THROW(model.llama.begin(0), Error);
  model.backward(0, work);
  model.llama.begin(0, PassMode::forward_only);
  EXPECT_THROW(model.llama.begin(1), std::out_of_range);

  LlamaSettings no_block = model.settings;
  no_block.stages = {{0, 1}};
  EXPECT_THROW(Model{no_block}, Error);
}

const auto name_of_case = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Cases, InFlight, testing::ValuesIn(cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Cases, Stages, testing::ValuesIn(cases()), name_of_case);

}  // namespace
}  // namespace octet

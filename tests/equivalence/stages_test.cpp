// Sharded models with several micro-batches in flight, and of some units only, between the ranks that there are.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/train/step/model_state.h"
#include "tests/support/numbers.h"

namespace octet {
namespace {

constexpr std::int64_t row_tokens = 16;

ModelConfig small_model() {
  ModelConfig m{.name = "small", .dim = 32, .layers = 4, .heads = 4, .kv_heads = 2, .ffn_dim = 64, .vocab_size = 48};
  m.finish();
  return m;
}

struct StageCase {
  std::string name;
  Precision precision = Precision::fp32;
  Float8Config float8{};
  RecomputeConfig recompute{};
  Zero zero = Zero::three;
};

LlamaSettings settings_of(const StageCase& c) {
  return {.model = small_model(),
          .precision = c.precision,
          .float8 = c.float8,
          .micro_batch = 1,
          .seq_len = row_tokens,
          .recompute = c.recompute};
}

struct Mesh1 {
  std::unique_ptr<Stream> stream = cpu_device().make_stream();
  Mesh mesh{make_mpi_communicator(*stream, "world"), {.dp_shard = 0}};
};

/// A sharded model and the loss that it has summed; every rank has sequences of its own.
struct Sharded {
  Sharded(const StageCase& c, const LlamaSettings& s, Mesh1& on)
      : stream(*on.stream), rank(on.mesh.dp().rank()), model(s, {}, {.zero = c.zero}, on.mesh, stream, nullptr) {
    model.initialize(7);
    model.begin_step(2);
  }
  std::vector<std::int32_t> ids(int number, int kind) const {
    const auto of = static_cast<std::uint32_t>(100 * rank + 2 * number + kind);
    std::vector<std::int32_t> all;
    for (std::uint64_t i = 0; i < row_tokens; ++i) {
      all.push_back(static_cast<std::int32_t>(random_bits({.seed = 11, .stream = of}, i) % 48));
    }
    return all;
  }
  void announce(const std::vector<std::vector<int>>& passes) {
    std::vector<int> order;
    for (const auto& units : passes) order.insert(order.end(), units.begin(), units.end());
    model.weights().begin_pass(order);
  }
  void forward(int slot, int number) {
    tokens[slot] = ids(number, 0);
    targets[slot] = ids(number, 1);
    model.llama().forward(slot, {tokens[slot].data(), targets[slot].data(), 1.0f / row_tokens, &loss}, model.weights(),
                          &model.sink());
  }
  void backward(int slot) { model.llama().backward(slot, model.weights(), model.sink()); }
  void in_turn(int number) {
    announce({model.llama().forward_units(), model.llama().backward_units()});
    model.llama().begin(0);
    forward(0, number);
    backward(0);
  }
  static std::vector<float> piece(const ShardedBuffer& of, std::size_t i) {
    return {of.data(i), of.data(i) + of.layout().shard(i).padded_elements()};
  }

  Stream& stream;
  int rank;
  ShardedModel model;
  std::vector<std::int32_t> tokens[2], targets[2];
  float loss = 0;
};

struct Stages : testing::TestWithParam<StageCase> {};

TEST_P(Stages, InterleavedMicroBatchesGiveTheGradientsOfOneAfterTheOther) {
  Mesh1 on;
  Sharded one(GetParam(), settings_of(GetParam()), on);
  LlamaSettings two = settings_of(GetParam());
  two.slots = 2;
  Sharded both(GetParam(), two, on);
  one.in_turn(0);
  one.in_turn(1);
  Llama& llama = both.model.llama();
  both.announce({llama.forward_units(), llama.forward_units(), llama.backward_units(), llama.backward_units()});
  for (const int slot : {0, 1}) {
    llama.begin(slot);
    both.forward(slot, slot);
  }
  for (const int slot : {0, 1}) both.backward(slot);
  EXPECT_EQ(both.loss, one.loss);
  for (Sharded* s : {&one, &both}) s->model.finish_step(1, 1e-3);
  EXPECT_EQ(*both.model.norm().norm(), *one.model.norm().norm());
  for (std::size_t i = 0; i < one.model.parameters().parameters.size(); ++i) {
    const std::string& name = one.model.parameters().parameters[i].name;
    EXPECT_TRUE(test::same_bits(Sharded::piece(both.model.gradients(), i), Sharded::piece(one.model.gradients(), i)))
        << name;
    EXPECT_TRUE(test::same_bits(Sharded::piece(both.model.master(), i), Sharded::piece(one.model.master(), i))) << name;
  }
}

LlamaSettings stage(LlamaSettings s, int begin, int end) {
  s.stages = {{begin, end}};
  return s;
}

TEST_P(Stages, TwoHaveTheLossAndTheGradientsOfTheWhole) {
  Mesh1 on;
  const LlamaSettings s = settings_of(GetParam());
  Sharded whole(GetParam(), s, on), lower(GetParam(), stage(s, 0, 3), on), upper(GetParam(), stage(s, 3, 6), on);
  const auto hand_over = [](const Tensor& from, const Tensor& to) {
    std::memcpy(to.data, from.data, static_cast<std::size_t>(from.bytes()));
  };
  for (const int number : {0, 1}) {
    whole.in_turn(number);
    for (Sharded* part : {&lower, &upper}) {
      part->announce({part->model.llama().forward_units(), part->model.llama().backward_units()});
    }
    Llama &below = lower.model.llama(), &above = upper.model.llama();
    below.begin(0);
    lower.forward(0, number);
    hand_over(below.out(0), above.begin(0));
    upper.forward(0, number);
    upper.backward(0);
    hand_over(above.out(0), below.out(0));
    lower.backward(0);
  }
  EXPECT_EQ(upper.loss, whole.loss);
  std::size_t parameters = 0;
  for (Sharded* part : {&lower, &upper}) {
    for (std::size_t i = 0; i < part->model.parameters().parameters.size(); ++i, ++parameters) {
      const ParameterSpec& p = part->model.parameters().parameters[i];
      EXPECT_TRUE(
          test::same_bits(Sharded::piece(part->model.gradients(), i), Sharded::piece(whole.model.gradients(), p.id)))
          << p.name;
    }
  }
  EXPECT_EQ(parameters, whole.model.parameters().parameters.size());
}

/// What a checkpoint gets of a stage, beside what it gets of the whole.
TEST_P(Stages, HoldThePiecesOfTheSameNames) {
  Mesh1 on;
  const LlamaSettings s = settings_of(GetParam());
  Sharded whole(GetParam(), s, on), upper(GetParam(), stage(s, 3, 6), on);
  EXPECT_EQ(upper.model.counters(), whole.model.counters());
  const std::vector<checkpoint::DevicePiece> all = held_pieces(whole.model), some = held_pieces(upper.model);
  std::size_t found = 0;
  for (const checkpoint::DevicePiece& piece : some) {
    for (const checkpoint::DevicePiece& same : all) {
      if (same.tensor.name != piece.tensor.name) continue;
      ++found;
      EXPECT_EQ(piece.tensor, same.tensor);
      EXPECT_EQ(piece.box, same.box);
      EXPECT_EQ(std::memcmp(piece.data, same.data,
                            static_cast<std::size_t>(piece.box.extent.elements() * size_of(piece.tensor.dtype))),
                0)
          << piece.tensor.name;
    }
  }
  EXPECT_EQ(found, some.size());
  EXPECT_LT(some.size(), all.size());
  for (std::size_t i = 0; i < upper.model.parameters().parameters.size(); ++i) {
    const ParameterSpec& p = upper.model.parameters().parameters[i];
    if (upper.model.scales().scale(i) == nullptr) continue;
    EXPECT_EQ(*upper.model.scales().scale(i), *whole.model.scales().scale(p.id)) << p.name;
  }
  EXPECT_EQ(stored_tensors(upper.model.all_parameters(), upper.model.scaling()),
            stored_tensors(whole.model.parameters(), whole.model.scaling()));
}

const auto name_of_case = [](const auto& info) { return info.param.name; };
const StageCase cases[] = {{"fp32"},
                           {"float8", Precision::float8},
                           {"float8_recompute", Precision::float8, {}, {.mode = RecomputeMode::full, .every = 2}},
                           {"bf16_kept", Precision::bf16, {}, {}, Zero::two},
                           {"float8_whole", Precision::float8, {}, {}, Zero::one}};
INSTANTIATE_TEST_SUITE_P(Cases, Stages, testing::ValuesIn(cases), name_of_case);

/// Scales that come from the steps before lie where the whole model's do, and are state of every rank.
TEST(StageOfARecipeThatRemembers, HasTheScalesOfTheWhole) {
  Mesh1 on;
  const StageCase delayed{"delayed", Precision::float8, {.recipe = "delayed", .delayed_history = 4}};
  const LlamaSettings s = settings_of(delayed);
  Sharded whole(delayed, s, on), upper(delayed, stage(s, 3, 6), on);
  EXPECT_EQ(upper.model.scaling().recorded().size(), whole.model.scaling().recorded().size());
  for (std::size_t i = 0; i < upper.model.parameters().parameters.size(); ++i) {
    const ParameterSpec& p = upper.model.parameters().parameters[i];
    const float* scale = upper.model.scales().scale(i);
    if (scale == nullptr) continue;
    EXPECT_EQ(*scale, *whole.model.scales().scale(p.id)) << p.name;
    EXPECT_EQ(scale - upper.model.scaling().weights().scale, p.cast);
  }
}

}  // namespace
}  // namespace octet

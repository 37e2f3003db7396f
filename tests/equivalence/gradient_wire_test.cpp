// Training with gradients that travel in bf16 against training with gradients that travel in fp32.
#include <gtest/gtest.h>

#include <cmath>

#include "src/base/random.h"
#include "tests/equivalence/harness.h"

namespace octet {
namespace {

constexpr std::int64_t seq_len = 32, sequences = 24, steps = 20;

ModelConfig small_model() {
  ModelConfig m;
  m.name = "wire";
  m.dim = 64;
  m.layers = 2;
  m.heads = 4;
  m.kv_heads = 2;
  m.ffn_dim = 160;
  m.vocab_size = 64;
  m.tied_embedding = true;
  m.finish();
  return m;
}

/// Half of the ids depend on their place, so that there is something to learn.
std::vector<std::int32_t> ids_of(std::uint32_t stream, std::int64_t step) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < sequences * seq_len; ++i) {
    const auto bits =
        random_bits({.seed = 5, .stream = stream}, static_cast<std::uint64_t>(step * sequences * seq_len + i));
    ids.push_back(static_cast<std::int32_t>(bits % 2 == 0 ? i % 11 : bits / 2 % 64));
  }
  return ids;
}

struct Trained {
  std::vector<double> losses;
  std::vector<std::vector<float>> first_gradients;  ///< of every parameter, whole
};

Trained train(Harness& h) {
  Trained run;
  h.sharded().initialize(11);
  for (std::int64_t step = 1; step <= steps; ++step) {
    run.losses.push_back(h.forward_backward(ids_of(0, step), ids_of(1, step)));
    h.sharded().finish_step(step, 1e-3);
    if (step > 1) continue;
    for (const ParameterSpec& p : h.sharded().parameters().parameters) {
      run.first_gradients.push_back(h.whole(h.sharded().gradients(), p.name));
    }
  }
  return run;
}

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = double{a[i]}, y = double{b[i]};
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(difference / norm);
}

struct Layout {
  int replicas, tp;
};

class WireTraining : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, WireTraining, testing::Values(Layout{1, 1}, Layout{2, 1}, Layout{1, 2}),
                         [](const auto& c) { return fmt::format("replicas_{}_tp_{}", c.param.replicas, c.param.tp); });

/// bf16 keeps 8 bits: each rank's part of a gradient is off by 2^-9 at most and by less than half of that in the mean;
/// what the parts lose against each other when they are added is what the tolerance leaves room for.
TEST_P(WireTraining, Bf16FollowsFp32) {
  Harness::Options options;
  options.dp_replicate = GetParam().replicas;
  options.tp = GetParam().tp;
  const auto stream = cpu_device().make_stream();
  const int ranks = make_mpi_communicator(*stream, "world")->size(), others = options.dp_replicate * options.tp;
  if (ranks % others != 0 || ranks == others) GTEST_SKIP() << ranks << " rank(s): no two shards";
  if (sequences % (ranks / options.tp) != 0) GTEST_SKIP() << "no part for each of " << ranks << " ranks";
  Harness wide(small_model(), seq_len, options);
  const Trained fp32 = train(wide);
  options.gradient_wire = DType::bf16;
  Harness narrow(small_model(), seq_len, options);
  const Trained bf16 = train(narrow);

  EXPECT_EQ(bf16.losses[0], fp32.losses[0]);  // before any gradient has travelled
  EXPECT_LT(fp32.losses.back(), 0.9 * fp32.losses.front());
  for (std::size_t s = 0; s < fp32.losses.size(); ++s) {
    EXPECT_NEAR(bf16.losses[s], fp32.losses[s], 5e-4 * fp32.losses[s]) << "step " << s + 1;
  }
  const auto& list = wide.sharded().parameters().parameters;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const double error = relative_difference(bf16.first_gradients[i], fp32.first_gradients[i]);
    EXPECT_GT(error, 1e-5) << list[i].name;  // it did travel in bf16
    EXPECT_LT(error, 0x1p-8) << list[i].name;
  }
}

}  // namespace
}  // namespace octet

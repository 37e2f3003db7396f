// Loss, gradients and 20 AdamW steps against PyTorch in float64, in fp32 on every layout (tests/golden/README.md).
#include <gtest/gtest.h>
#include <mpi.h>

#include "tests/equivalence/harness.h"
#include "tests/support/golden.h"

namespace octet {
namespace {

class Oracle : public testing::TestWithParam<std::string> {
 protected:
  ModelConfig model() const {
    ModelConfig m;
    m.name = GetParam();
    m.dim = golden_.attribute<std::int64_t>("dim");
    m.layers = golden_.attribute<std::int64_t>("layers");
    m.heads = golden_.attribute<std::int64_t>("heads");
    m.kv_heads = golden_.attribute<std::int64_t>("kv_heads");
    m.head_dim = golden_.attribute<std::int64_t>("head_dim");
    m.ffn_dim = golden_.attribute<std::int64_t>("ffn_dim");
    m.vocab_size = golden_.attribute<std::int64_t>("vocab_size");
    m.tied_embedding = golden_.attribute<bool>("tied_embedding");
    m.rope_theta = golden_.attribute<double>("rope_theta");
    m.norm_eps = golden_.attribute<double>("norm_eps");
    m.finish();
    return m;
  }

  OptimizerConfig optimizer() const {
    OptimizerConfig o;
    o.lr = golden_.attribute<double>("lr");
    o.beta1 = golden_.attribute<double>("beta1");
    o.beta2 = golden_.attribute<double>("beta2");
    o.eps = golden_.attribute<double>("eps");
    o.weight_decay = golden_.attribute<double>("weight_decay");
    o.clip_norm = golden_.attribute<double>("clip_norm");
    return o;
  }

  /// Why this case cannot run with this many ranks and replicas; empty when it can.
  std::string obstacle(int replicas) const {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks % replicas != 0) return fmt::format("{} replicas cannot be made of {} ranks", replicas, ranks);
    if (batch_ % ranks != 0) return fmt::format("a batch of {} cannot be divided among {} ranks", batch_, ranks);
    return "";
  }

  /// Null when each rank's part of the batch cannot be divided into such micro-batches.
  std::unique_ptr<Harness> make(int dp_replicate, Zero zero, std::int64_t micro_batch) {
    Harness::Options options;
    options.optimizer = optimizer();
    options.dp_replicate = dp_replicate;
    options.zero = zero;
    options.micro_batch = micro_batch;
    auto h = std::make_unique<Harness>(model(), seq_, options);
    if (batch_ % (h->mesh().dp().size() * micro_batch) != 0) return nullptr;
    for (const ParameterSpec& p : h->sharded().parameters().parameters) {
      h->set_weight(p.name, golden_.values<float>("weight." + p.name));
    }
    h->sharded().weights_changed();
    return h;
  }

  std::vector<std::int32_t> batch(const char* name, std::int64_t step) const {
    const auto all = golden_.values<std::int32_t>(name);
    const std::int64_t n = batch_ * seq_;
    return {all.begin() + step * n, all.begin() + (step + 1) * n};
  }

  std::vector<std::int32_t> documents(std::int64_t step) const {
    return golden_.has("document_begin") ? batch("document_begin", step) : std::vector<std::int32_t>{};
  }

  void expect_loss_and_gradients(Harness& h) {
    const double loss = h.forward_backward(batch("tokens", 0), batch("targets", 0), documents(0));
    const double expected = golden_.values<double>("loss")[0];
    EXPECT_NEAR(loss, expected, 1e-6 * expected);
    h.sharded().finish_step(1, 0.0);  // sums the replicas; a learning rate of 0 moves nothing
    for (const ParameterSpec& p : h.sharded().parameters().parameters) {
      const auto gradient = h.whole(h.sharded().gradients(), p.name);
      EXPECT_LT(Golden::distance(gradient, golden_.values<float>("gradient." + p.name)), 1e-5) << p.name;
    }
  }

  void expect_steps(Harness& h) {
    const auto losses = golden_.values<double>("adamw.losses"), norms = golden_.values<double>("adamw.grad_norms");
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(losses.size()); ++t) {
      const auto i = static_cast<std::size_t>(t);
      const double loss = h.forward_backward(batch("tokens", t), batch("targets", t), documents(t));
      EXPECT_NEAR(loss, losses[i], 1e-5 * losses[i]) << "step " << t + 1;
      h.sharded().finish_step(t + 1, golden_.attribute<double>("lr"));
      EXPECT_NEAR(*h.sharded().norm().norm(), norms[i], 1e-5 * norms[i]) << "step " << t + 1;
    }
    for (const ParameterSpec& p : h.sharded().parameters().parameters) {
      const auto weight = h.whole(h.sharded().master(), p.name);
      EXPECT_LT(Golden::distance(weight, golden_.values<float>("final." + p.name)), 1e-5) << p.name;
    }
  }

  Golden golden_{GetParam()};
  std::int64_t batch_ = golden_.attribute<std::int64_t>("batch");
  std::int64_t seq_ = golden_.attribute<std::int64_t>("seq_len");
};

TEST_P(Oracle, LossAndGradients) {
  if (const auto why = obstacle(1); !why.empty()) GTEST_SKIP() << why;
  for (const std::int64_t micro_batch : {1, 2}) {
    if (const auto h = make(1, Zero::three, micro_batch)) expect_loss_and_gradients(*h);
  }
}

TEST_P(Oracle, TwentyStepsOfAdamW) {
  if (const auto why = obstacle(1); !why.empty()) GTEST_SKIP() << why;
  for (const Zero zero : {Zero::one, Zero::two, Zero::three}) expect_steps(*make(1, zero, 1));
}

TEST_P(Oracle, TwentyStepsWithReplicas) {
  if (const auto why = obstacle(2); !why.empty()) GTEST_SKIP() << why;
  expect_steps(*make(2, Zero::three, 1));
}

INSTANTIATE_TEST_SUITE_P(Cases, Oracle,
                         testing::Values("llama_untied", "llama_tied", "llama_uneven", "llama_documents"),
                         [](const auto& c) { return c.param; });

}  // namespace
}  // namespace octet

// A shard group of one rank that gathers and reduces all the same: the numbers, and what travels.
#include "src/comm/trace.h"
#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

class OneRankExchange : public TrainerTest {
 protected:
  struct Outcome {
    std::vector<double> losses;
    CommTrace trace;
  };

  /// Three steps on replicas of one shard each.
  Outcome run(bool exchange) {
    config_.parallel.one_rank_exchange = exchange;
    config_.train.micro_batch = micro_batch();
    Outcome out;
    Mesh mesh(make_traced(make_mpi_communicator(*stream_, "world"), &out.trace), shape());
    Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr);
    for (std::int64_t step = 1; step <= 3; ++step) out.losses.push_back(train_step(trainer, step).loss);
    return out;
  }
  /// One a step: sums over several round in another order.
  std::int64_t micro_batch() const { return batch / world_->size(); }
  MeshShape shape() const { return {.dp_replicate = world_->size(), .dp_shard = 1}; }
};

TEST_F(OneRankExchange, ChangesNoNumberAndSendsEveryUnit) {
  config_.model.head_dim = 8;  // float8 wants rows of 16 bytes
  config_.model.dim = 32;
  config_.model.ffn_dim = 48;
  for (const auto& [precision, recipe] : {std::pair{Precision::fp32, "tensorwise"},
                                          {Precision::bf16, "tensorwise"},
                                          {Precision::float8, "tensorwise"},
                                          {Precision::float8, "rowwise"}}) {
    for (const AutoBool overlap : {AutoBool::automatic, AutoBool::yes}) {
      SCOPED_TRACE(fmt::format("{} {} overlap {}", name_of(precision), recipe, overlap));
      config_.precision = precision;
      config_.float8.recipe = recipe;
      config_.parallel.overlap = AutoBool::automatic;
      const Outcome without = run(false);
      config_.parallel.overlap = overlap;
      const Outcome with = run(true);
      EXPECT_EQ(with.losses, without.losses);
      EXPECT_NE(with.losses.front(), with.losses.back());
      EXPECT_EQ(without.trace.calls("all_gather", "dp_shard"), 0);
      const std::int64_t micro_batches = 3;        // one a step
      const std::int64_t weights = 2 + 2 * 9 + 1;  // embedding, norm and head, two blocks of nine
      EXPECT_EQ(with.trace.calls("reduce_scatter", "dp_shard"), micro_batches * weights);
      EXPECT_GE(with.trace.calls("all_gather", "dp_shard"), micro_batches * weights);
    }
  }
}

}  // namespace
}  // namespace octet

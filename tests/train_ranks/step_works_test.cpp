// What the ranks of a run count together of its batches, each its share of the samples.
#include "src/train/step/step_works.h"

#include <vector>

#include "src/train/step/run_settings.h"
#include "tests/equivalence/trainer_test.h"

namespace octet {
namespace {

/// Steps that differ: sample s of a stream has seed * (s % 7) targets. Counts the samples that it is asked about.
class UnequalBatches final : public Batches {
 public:
  explicit UnequalBatches(std::int64_t batch) : batch_(batch) {}

  std::int64_t micro_batches(const BatchLayout&) const override { return 1; }
  void train_batch(std::int64_t, const BatchLayout&, std::int64_t, Batch&) const override {}
  bool has_equal_steps() const override { return false; }
  using Batches::step_work;
  StepWork step_work(std::int64_t step, const WorkShare& share) const override {
    const std::int64_t targets = sum(step * batch_, batch_, share);
    return {targets, 2 * targets};
  }
  std::int64_t validation_batches() const override { return 4; }
  void validation_batch(std::int64_t, const BatchLayout&, std::int64_t, Batch&) const override {}
  using Batches::validation_targets;
  std::int64_t validation_targets(std::int64_t batches, const WorkShare& share) const override {
    return sum(1, batches * batch_, share);
  }

  std::int64_t seed = 1;
  mutable std::int64_t asked = 0;

 private:
  std::int64_t sum(std::int64_t begin, std::int64_t samples, const WorkShare& share) const {
    std::int64_t targets = 0;
    for (std::int64_t i = share.first; i < samples; i += share.every) targets += seed * ((begin + i) % 7);
    asked += share.of(samples);
    return targets;
  }

  std::int64_t batch_;
};

class StepWorksTest : public TrainerTest {
 protected:
  /// What each of the ranks has been asked about since the last call.
  std::vector<std::int64_t> asked() {
    std::vector<std::int64_t> all(static_cast<std::size_t>(world_->size()));
    world_->all_gather(&batches_.asked, all.data(), sizeof batches_.asked, DType::u8);
    batches_.asked = 0;
    return all;
  }

  UnequalBatches batches_{batch};
  const UnequalBatches whole_{batch};
};

TEST_F(StepWorksTest, EachRankCountsItsShareOfAValidationOnce) {
  StepWorks works(batches_, *world_);
  for (const std::int64_t batches : {4, 3}) {
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(works.validation_targets(batches), whole_.validation_targets(batches));
    }
    std::int64_t all = 0;
    for (const std::int64_t samples : asked()) {
      EXPECT_LE(samples, (batches * batch + world_->size() - 1) / world_->size());
      all += samples;
    }
    EXPECT_EQ(all, batches * batch);
  }
}

TEST_F(StepWorksTest, ForgetsWhatTheOldBatchesHad) {
  StepWorks works(batches_, *world_);
  EXPECT_EQ(works.of(5), whole_.step_work(5));
  EXPECT_EQ(works.validation_targets(2), whole_.validation_targets(2));
  batches_.seed = 3;
  EXPECT_EQ(works.of(5), whole_.step_work(5));
  EXPECT_EQ(works.validation_targets(2), whole_.validation_targets(2));
  works.clear();
  for (const std::int64_t step : {5, 6, 4}) EXPECT_EQ(works.of(step).targets, 3 * whole_.step_work(step).targets);
  EXPECT_EQ(works.validation_targets(2), 3 * whole_.validation_targets(2));
}

TEST_F(StepWorksTest, TheTargetsOfAValidationAreThoseOfOneRank) {
  config_.data.train = {{write_documents(), 1.0}};
  config_.data.validation_fraction = 0.4;
  for (const bool mask : {false, true}) {
    config_.data.document_mask = mask;
    for (const bool on_first : {true, false}) {
      if (!mask && !on_first) continue;
      config_.data.loss_on_first = on_first;
      const Sampler sampler(config_.data.train, sampler_config(config_));
      ASSERT_GT(sampler.validation_batches(), 2);
      StepWorks works(sampler, *world_);
      for (std::int64_t batches = 1; batches <= sampler.validation_batches(); ++batches) {
        EXPECT_EQ(works.validation_targets(batches), sampler.validation_targets(batches)) << mask << on_first;
      }
      for (const std::int64_t ranks : {5, 64}) {
        std::int64_t sum = 0;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          sum += sampler.validation_targets(sampler.validation_batches(), {.first = rank, .every = ranks});
        }
        EXPECT_EQ(sum, sampler.validation_targets(sampler.validation_batches()));
      }
    }
  }
}

}  // namespace
}  // namespace octet

// Over which batches a validation loss is the mean.
#include <cmath>

#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

class ValidationTest : public TrainerTest {
 protected:
  ValidationTest() { config_.data.validation_fraction = 0.4; }  // 37 of 93 samples: three batches of 12, and one more

  double validate(std::int64_t batches) {
    config_.train.validation_batches = batches;
    Mesh mesh(make_mpi_communicator(*stream_, "world"), {.dp_shard = 0});
    return Trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr).validate();
  }
};

TEST_F(ValidationTest, IsTheMeanOfAsManyBatchesAsAreAskedFor) {
  const double one = validate(1), two = validate(2), three = validate(3), all = validate(0);
  EXPECT_EQ(validate(4), all);
  EXPECT_EQ(validate(100), all);
  // A model that knows nothing has about the same loss everywhere, and nowhere quite the same.
  const double second = 2 * two - one, third = 3 * three - 2 * two, last = 37 * all - 36 * three;
  EXPECT_NEAR(one, std::log(50.0) + 0.4, 0.4) << "of 50 ids, by logits that are not quite equal";
  EXPECT_NEAR(second, one, 0.3);
  EXPECT_NEAR(third, one, 0.3);
  EXPECT_NEAR(last, one, 1) << "of one sample";
  EXPECT_NE(one, two);
  EXPECT_NE(three, all);
}

TEST_F(ValidationTest, HasNothingOfTheStepBefore) {
  config_.optimizer.lr = 0;
  Mesh mesh(make_mpi_communicator(*stream_, "world"), {.dp_shard = 0});
  Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, nullptr);
  const double before = trainer.validate();
  train_step(trainer, 1);
  EXPECT_EQ(trainer.validate(), before);
  EXPECT_EQ(trainer.validate(), before);
}

}  // namespace
}  // namespace octet

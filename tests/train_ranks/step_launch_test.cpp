// A step is given to the device without waiting for it, whatever runs on streams of their own; its numbers are the one
// thing that the host waits for.
#include "tests/equivalence/trainer_test.h"
#include "tests/parallel/recording_device.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

struct LaunchCase {
  const char* name;
  Precision precision;
  const char* recipe = "tensorwise";
  int replicas = 1, tp = 1;
};

void PrintTo(const LaunchCase& c, std::ostream* out) {
  *out << c.name;
}

class Launch : public TrainerTest, public testing::WithParamInterface<LaunchCase> {
 protected:
  void SetUp() override {
    const LaunchCase& c = GetParam();
    if (world_->size() % (c.replicas * c.tp) != 0) GTEST_SKIP() << "does not fit so many ranks";
    config_.model = {.name = "even",
                     .dim = 32,
                     .layers = 3,
                     .heads = 4,
                     .kv_heads = 2,
                     .head_dim = 16,
                     .ffn_dim = 64,
                     .vocab_size = 64};
    config_.precision = c.precision;
    config_.float8.recipe = c.recipe;
    config_.train.micro_batch = 2;
    config_.train.steps = 5;
    config_.train.global_batch = 2 * world_->size();
    config_.parallel.tp = c.tp;
    config_.parallel.async_tp = c.tp > 1;
    config_.parallel.overlap = AutoBool::yes;
  }

  test::Recording recording_;
  test::RecordingDevice device_{recording_};
};

INSTANTIATE_TEST_SUITE_P(Cases, Launch,
                         testing::Values(LaunchCase{"fp32", Precision::fp32},
                                         LaunchCase{"bf16_replicas", Precision::bf16, "tensorwise", 2},
                                         LaunchCase{"float8", Precision::float8},
                                         LaunchCase{"float8_tp", Precision::float8, "tensorwise", 1, 2},
                                         LaunchCase{"delayed", Precision::float8, "delayed"},
                                         LaunchCase{"rowwise", Precision::float8, "rowwise"}),
                         [](const auto& c) { return c.param.name; });

TEST_P(Launch, WaitsForNothing) {
  const auto stream = device_.make_stream();
  Mesh mesh(make_mpi_communicator(*stream, "world"),
            {.dp_replicate = GetParam().replicas, .dp_shard = 0, .tp = GetParam().tp});
  Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream, nullptr);
  trainer.launch(1);
  for (std::int64_t step = 2; step <= 5; ++step) {
    const int before = recording_.count_host_waits();
    trainer.launch(step);
    EXPECT_EQ(recording_.count_host_waits(), before) << "launch of step " << step;
    EXPECT_TRUE(trainer.collect().is_finite());
    EXPECT_EQ(recording_.count_host_waits(), before + 1) << "for the numbers of step " << step - 1;
  }
  EXPECT_TRUE(trainer.collect().is_finite());
}

}  // namespace
}  // namespace octet

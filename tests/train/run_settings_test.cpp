// What follows from the options of a run: in which dtype GEMMs leave gradients, on how many streams groups work.
#include "src/train/step/run_settings.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

class GemmGradients : public testing::Test {
 protected:
  GemmGradients() {
    config_.precision = Precision::bf16;
    config_.parallel.gradient_wire = GradientForm::bf16;
    config_.train.micro_batch = 2;
    config_.train.global_batch = 16;
  }
  DType with(int shards) const { return fsdp_options(config_, shards).gemm_gradient_dtype; }
  RunConfig config_;
};

TEST_F(GemmGradients, AreAsTheyTravelButOfFp32Operands) {
  EXPECT_EQ(with(4), DType::bf16);
  config_.precision = Precision::float8;
  EXPECT_EQ(with(4), DType::bf16);
  config_.precision = Precision::fp32;
  EXPECT_EQ(with(4), DType::f32);
  config_.precision = Precision::bf16;
  config_.parallel.gradient_wire = GradientForm::fp32;
  EXPECT_EQ(with(4), DType::f32);
}

/// Those that are kept whole are added up over micro-batches.
TEST_F(GemmGradients, AreFp32WhereALaterMicroBatchIsAddedToThem) {
  config_.parallel.zero = Zero::one;
  EXPECT_EQ(with(4), DType::f32) << "two micro-batches";
  EXPECT_EQ(with(8), DType::bf16) << "one";
  config_.parallel.dp_replicate = 2;
  EXPECT_EQ(with(4), DType::bf16) << "one of two replicas";
  EXPECT_EQ(with(2), DType::f32);
  config_.parallel.zero = Zero::two;
  EXPECT_EQ(with(2), DType::bf16) << "each is reduced by itself";
}

TEST(SeveralStreams, AreThoseOfOverlapOfAsyncTpAndOfAPipeline) {
  RunConfig config;
  config.device = DeviceType::cuda;
  config.parallel.dp_shard = 1;
  EXPECT_FALSE(exchanges_on_several_streams(config)) << "one shard";
  config.parallel.tp = 8;
  EXPECT_FALSE(exchanges_on_several_streams(config));
  config.parallel.async_tp = true;
  EXPECT_TRUE(exchanges_on_several_streams(config));
  config.parallel.async_tp = false;
  config.parallel.dp_shard = 2;
  EXPECT_TRUE(exchanges_on_several_streams(config));
  config.parallel.overlap = AutoBool::no;
  EXPECT_FALSE(exchanges_on_several_streams(config));
  config.parallel.pp = 2;
  EXPECT_TRUE(exchanges_on_several_streams(config));
}

}  // namespace
}  // namespace octet

// The numbers of a run's lines, from times that the test makes up: no directory, no data and no step is needed.
#include "src/train/run/throughput.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/idle_gpu.h"

namespace octet {
namespace {

/// A device whose data sheet is known: 989e12 FLOP/s in bf16, 1979e12 in float8.
class IdleH100 final : public test::IdleGpu {
 public:
  IdleH100() : IdleGpu(1000) {}
  std::string name() const override { return "NVIDIA H100 80GB HBM3"; }
};

class ThroughputTest : public testing::Test {
 protected:
  static constexpr int ranks = 2;

  ThroughputTest() {
    config_.model = {.name = "small",
                     .dim = 32,
                     .layers = 3,
                     .heads = 2,
                     .kv_heads = 2,
                     .head_dim = 16,
                     .ffn_dim = 64,
                     .vocab_size = 50};
    config_.precision = Precision::bf16;
    config_.train.global_batch = 4;
    config_.train.seq_len = 8;
  }

  /// Of a token that sees so many, by the formula of docs/run-directories.md.
  double flops(double keys) const {
    const auto computing = static_cast<double>(config_.model.parameters() - 50 * 32);
    return 6 * computing + 12.0 * 3 * 2 * 16 * keys;
  }
  static Spent spent(double step, double data, double validation, double checkpoint, double wait) {
    return {{step, data, validation, checkpoint, wait}};
  }
  static StepResult result_of(std::int64_t step) {
    StepResult result;
    result.step = step;
    return result;
  }
  /// What a step computes whose rows are single documents.
  static constexpr StepWork whole_rows{.targets = 32, .pairs_of_tokens = 4 * 8 * 8};

  RunConfig config_;
  IdleH100 gpu_;
};

TEST_F(ThroughputTest, ALineHasWhatCameSinceTheOneBefore) {
  Throughput throughput(config_, ranks, gpu_, 0);
  throughput.add(spent(2, 0.5, 0, 0, 0.25), 1, whole_rows);
  throughput.add(spent(0, 0, 0, 1, 0), 0);
  throughput.add(spent(6, 0.5, 3, 0, 0.25), 1, whole_rows);
  StepResult result = result_of(2);
  result.loss = 5;
  result.grad_norm = 0.5;
  result.lr = 1e-3;
  const StepMetrics first = throughput.take_line(result, 4.0, 7);
  EXPECT_EQ(first.step, 2);
  EXPECT_EQ(first.loss, 5);
  EXPECT_EQ(first.validation_loss, 4);
  EXPECT_EQ(first.validation_bits_per_byte, std::nullopt) << "the bytes of a token are not known";
  EXPECT_EQ(first.grad_norm, 0.5);
  EXPECT_EQ(first.lr, 1e-3);
  EXPECT_EQ(first.tokens, 2 * 32);
  EXPECT_TRUE(first.passes.empty());
  EXPECT_EQ(first.interval_steps, 2);
  EXPECT_EQ(first.step_seconds, 4);
  EXPECT_EQ(first.data_seconds, 1);
  EXPECT_EQ(first.validation_seconds, 3);
  EXPECT_EQ(first.checkpoint_stall_seconds, 1);
  EXPECT_EQ(first.wait_seconds, 0.5);
  EXPECT_EQ(first.tokens_per_second, 64 / 8.0) << "without pauses";
  EXPECT_EQ(first.tokens_per_second_per_rank, 32 / 8.0);
  EXPECT_EQ(first.restarts, 7);

  throughput.add(spent(1, 0, 0, 0, 0), 1, whole_rows);
  const StepMetrics second = throughput.take_line(result_of(3), std::nullopt, 7);
  EXPECT_EQ(second.tokens, 3 * 32) << "since the run began";
  EXPECT_EQ(second.interval_steps, 1);
  EXPECT_EQ(second.step_seconds, 1);
  EXPECT_EQ(second.data_seconds, 0);
  EXPECT_EQ(second.tokens_per_second, 32);
  EXPECT_EQ(second.validation_loss, std::nullopt);
}

TEST_F(ThroughputTest, OfOneRankIsComparedWithItsDevicesPeak) {
  Throughput throughput(config_, ranks, gpu_, 0);
  throughput.add(spent(2, 9, 9, 9, 9), 1, whole_rows);
  const StepMetrics line = throughput.take_line(result_of(1), std::nullopt, 0);
  const double per_second = 32 / 2.0 / ranks * flops(8);
  EXPECT_DOUBLE_EQ(line.tflops, per_second / 1e12);
  EXPECT_EQ(line.tflops_unmasked, std::nullopt);
  EXPECT_DOUBLE_EQ(line.mfu.value(), 100 * per_second / 989e12);
  EXPECT_EQ(line.mfu_mixed, std::nullopt);
}

/// A quarter of the operations takes half as long: 7/8 of the time at the peak of bf16, but for the rounding of
/// 1979e12.
TEST_F(ThroughputTest, InFloat8ThePeakIsThatOfTheMixture) {
  config_.precision = Precision::float8;
  Throughput throughput(config_, ranks, gpu_, flops(8) / 4);
  throughput.add(spent(2, 0, 0, 0, 0), 1, whole_rows);
  const StepMetrics line = throughput.take_line(result_of(1), std::nullopt, 0);
  EXPECT_NEAR(line.mfu_mixed.value() / line.mfu.value(), 7.0 / 8, 1e-3);
}

/// Rows of two documents: a token sees half as many.
TEST_F(ThroughputTest, WithDocumentsAttentionThatIsMaskedIsNotCounted) {
  config_.data.document_mask = true;
  Throughput throughput(config_, ranks, gpu_, 0);
  throughput.add(spent(1, 0, 0, 0, 0), 1, {.targets = 32, .pairs_of_tokens = 4 * 2 * 4 * 4});
  const StepMetrics line = throughput.take_line(result_of(1), std::nullopt, 0);
  EXPECT_DOUBLE_EQ(line.tflops, 16 * flops(4) / 1e12);
  EXPECT_DOUBLE_EQ(line.tflops_unmasked.value(), 16 * flops(8) / 1e12);
}

TEST_F(ThroughputTest, ALineHasThePeakOfTheMemoryAndAllThatWasNotFinite) {
  Throughput throughput(config_, ranks, gpu_, 0);
  gpu_.ledger().add(Purpose::workspace, 250);
  gpu_.ledger().remove(Purpose::workspace, 200);
  throughput.add(spent(1, 0, 0, 0, 0), 1, whole_rows);
  StepResult result = result_of(1);
  result.non_finite = {{"layers.0", "a", 3}, {"layers.1", "b", 4}};
  const StepMetrics line = throughput.take_line(result, std::nullopt, 0);
  EXPECT_EQ(line.memory_bytes, 250);
  EXPECT_EQ(line.memory_percent, 25);
  EXPECT_EQ(line.non_finite, 7);
}

TEST_F(ThroughputTest, TheSummaryHasAllLinesAndWhatCameAfterThem) {
  Throughput throughput(config_, ranks, gpu_, 0);
  EXPECT_EQ(throughput.summary(), "") << "no step";
  throughput.add(spent(2, 1, 0, 0, 0), 1, whole_rows);
  throughput.take_line(result_of(1), std::nullopt, 0);
  throughput.add(spent(2, 1, 0.5, 0, 0.25), 1, whole_rows);
  throughput.add(spent(0, 0, 0, 1.25, 0), 0);
  EXPECT_EQ(throughput.summary(),
            "; 2 step(s) in 8.00 s: 8 tokens/s with pauses, 16 training alone (pauses: data 2.00 s, validation 0.50 s, "
            "checkpoints 1.25 s, waiting to start 0.25 s)");
}

}  // namespace
}  // namespace octet

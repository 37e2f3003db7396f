// The passes of a trainer as graphs on a GPU without memory: the same work in its order.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/train/step/pass_graphs.h"
#include "src/train/step/trainer.h"

namespace octet {
namespace {

/// The name, bytes and FLOPs of all work that a device is given.
class Given final : public WorkLog {
 public:
  double add(const Stream&, const Work& work, const Turn&) override {
    lines.push_back(fmt::format("{} {} {}", work.name, work.bytes, work.flops));
    return 0;
  }
  std::vector<std::string> lines;
};

struct Recorded {
  std::vector<std::string> lines;
  std::int64_t replayed = 0, made = 0, peak = 0;
  bool on = false;  ///< at the end
};

/// The length of the documents of a micro-batch.
using Length = std::function<std::int64_t(std::int64_t step, std::int64_t micro_batch)>;

/// Batches of token 0 in such documents; rows are whole where they are as long as a row.
class BatchesOfDocuments final : public Batches {
 public:
  BatchesOfDocuments(const RunConfig& config, Length length)
      : dry_(config.train.global_batch, config.train.seq_len), length_(std::move(length)) {}

  std::int64_t micro_batches(const BatchLayout& layout) const override { return dry_.micro_batches(layout); }
  void train_batch(std::int64_t step, const BatchLayout& layout, std::int64_t m, Batch& batch) const override {
    dry_.train_batch(step, layout, m, batch);
    put_documents(length_(step, m), batch);
  }
  bool has_equal_steps() const override { return dry_.has_equal_steps(); }
  StepWork step_work(std::int64_t step, const WorkShare& share) const override { return dry_.step_work(step, share); }
  std::int64_t validation_batches() const override { return dry_.validation_batches(); }
  void validation_batch(std::int64_t index, const BatchLayout& layout, std::int64_t m, Batch& batch) const override {
    dry_.validation_batch(index, layout, m, batch);
    put_documents(length_(0, m), batch);
  }
  std::int64_t validation_targets(std::int64_t batches, const WorkShare& share) const override {
    return dry_.validation_targets(batches, share);
  }

 private:
  static void put_documents(std::int64_t length, Batch& batch) {
    batch.document_begin.clear();
    if (length >= batch.seq_len) return;
    for (std::int64_t t = 0; t < batch.micro_batch * batch.seq_len; ++t) {
      batch.document_begin.push_back(static_cast<std::int32_t>(t % batch.seq_len / length * length));
    }
  }

  DryBatches dry_;
  Length length_;
};

std::int64_t whole_rows(std::int64_t, std::int64_t) {
  return 1 << 20;
}

/// Of more kinds than are kept.
std::int64_t other_each_step(std::int64_t step, std::int64_t) {
  return std::array{256, 128, 60, 30, 16, 12, 4, 2, 1}[static_cast<std::size_t>(step % 9)];
}

/// Steps of two micro-batches with a validation behind the third, on a GPU without memory.
Recorded steps_on_gpu(RunConfig config, AutoBool wanted, const Length& length = whole_rows, std::int64_t steps = 6) {
  config.graphs = wanted;
  Given given;
  const auto gpu = make_dry_device(DeviceType::cuda, DeviceType::cpu, &given);
  const auto stream = gpu->make_stream();
  Mesh mesh(make_self_communicator(*stream, "world"), {});
  const auto control = make_self_communicator(*stream, "control");
  const BatchesOfDocuments batches(config, length);
  Trainer trainer(config, batches, mesh, *control, *stream, nullptr);
  for (std::int64_t step = 1; step <= steps; ++step) {
    if (step == 4) trainer.validate();
    trainer.launch(step);
    trainer.collect();
  }
  return {given.lines, trainer.graphs().replayed(), trainer.graphs().made(), gpu->ledger().total().peak,
          trainer.graphs().on()};
}

RunConfig small_run() {
  RunConfig config;
  config.device = DeviceType::cuda;
  config.model = {.name = "small",
                  .dim = 256,
                  .layers = 3,
                  .heads = 4,
                  .kv_heads = 2,
                  .head_dim = 64,
                  .ffn_dim = 768,
                  .vocab_size = 512};
  config.train.seq_len = 256;
  config.train.global_batch = 4;
  config.train.micro_batch = 2;
  config.data.validation_fraction = 0.1;
  config.optimizer.beside_forward = AutoBool::no;  // so that runs give their work in the same order
  return config;
}

TEST(GraphsOnADryGpu, GiveTheWorkOfPassesWithoutInItsOrderAndTakeNoMemory) {
  for (const auto& [precision, recipe] : {std::pair{Precision::fp32, "tensorwise"},
                                          {Precision::bf16, "tensorwise"},
                                          {Precision::float8, "tensorwise"},
                                          {Precision::float8, "rowwise"},
                                          {Precision::float8, "blockwise"},
                                          {Precision::float8, "delayed"}}) {
    for (const bool documents : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}{}", precision, recipe, documents ? ", documents" : ""));
      RunConfig config = small_run();
      config.precision = precision;
      config.float8.recipe = recipe;
      config.data.document_mask = documents;
      // Of the same number of places, so that passes are of few kinds.
      const Length length =
          documents ? [](std::int64_t step, std::int64_t) { return step % 2 == 0 ? 40 : 50; } : Length(whole_rows);
      const Recorded without = steps_on_gpu(config, AutoBool::no, length);
      const Recorded with = steps_on_gpu(config, AutoBool::automatic, length);
      EXPECT_EQ(with.lines, without.lines);
      EXPECT_EQ(with.peak, without.peak);
      EXPECT_EQ(without.replayed, 0);
      EXPECT_GT(with.replayed, 3);
      EXPECT_TRUE(with.on);
    }
  }
}

/// By default where passes are no graphs; where it is asked for, they are none.
TEST(GraphsOnADryGpu, LeaveNoUpdateBesideThem) {
  using enum AutoBool;
  for (const auto& [beside, graphs, expected] :
       {std::tuple{automatic, automatic, false}, {automatic, no, true}, {yes, automatic, true}, {no, no, false}}) {
    SCOPED_TRACE(fmt::format("{} beside, {} graphs", beside, graphs));
    RunConfig config = small_run();
    config.graphs = graphs;
    config.optimizer.beside_forward = beside;
    const auto gpu = make_dry_device(DeviceType::cuda, DeviceType::cpu, nullptr);
    const auto stream = gpu->make_stream();
    Mesh mesh(make_self_communicator(*stream, "world"), {});
    const auto control = make_self_communicator(*stream, "control");
    const BatchesOfDocuments batches(config, whole_rows);
    Trainer trainer(config, batches, mesh, *control, *stream, nullptr);
    trainer.launch(1);
    EXPECT_EQ(trainer.model().update_under_way(), expected);
    EXPECT_EQ(trainer.graphs().on(), !expected && graphs == automatic);
  }
}

/// Updates go beside the forward pass with the step in which passes stop being graphs.
TEST(GraphsOnADryGpu, ThatAreGivenUpLetUpdatesGoBeside) {
  RunConfig config = small_run();
  config.precision = Precision::bf16;
  config.data.document_mask = true;
  config.optimizer.beside_forward = AutoBool::automatic;
  const auto gpu = make_dry_device(DeviceType::cuda, DeviceType::cpu, nullptr);
  const auto stream = gpu->make_stream();
  Mesh mesh(make_self_communicator(*stream, "world"), {});
  const auto control = make_self_communicator(*stream, "control");
  const BatchesOfDocuments batches(config, other_each_step);
  Trainer trainer(config, batches, mesh, *control, *stream, nullptr);
  EXPECT_TRUE(trainer.graphs().on());
  int with_graphs = 0;
  for (std::int64_t step = 1; step <= 40; ++step) {
    trainer.launch(step);
    trainer.collect();
    EXPECT_NE(trainer.model().update_under_way(), trainer.graphs().on()) << "step " << step;
    with_graphs += trainer.graphs().on() ? 1 : 0;
  }
  EXPECT_GT(with_graphs, 0);
  EXPECT_LT(with_graphs, 40);
}

/// Lists of documents have sizes of powers of 4, rows of one document none: two kinds of micro-batch of each.
TEST(GraphsOnADryGpu, OfDocumentsAreOfAKindForEachSizeOfTheirList) {
  RunConfig config = small_run();
  config.precision = Precision::bf16;
  config.data.document_mask = true;
  const Length three = [](std::int64_t step, std::int64_t) { return std::array{256, 128, 8}[step % 3]; };
  const Recorded run = steps_on_gpu(config, AutoBool::yes, three, 30);
  EXPECT_EQ(run.made, 6);
  EXPECT_TRUE(run.on);
  EXPECT_EQ(run.lines, steps_on_gpu(config, AutoBool::no, three, 30).lines);
}

/// More kinds than are kept, each twice before the next: graphs are made for nothing until they are given up.
TEST(GraphsOnADryGpu, OfDocumentsOfEverySizeAreGivenUp) {
  RunConfig config = small_run();
  config.precision = Precision::bf16;
  config.train.global_batch = 8;
  config.data.document_mask = true;
  testing::internal::CaptureStderr();
  const Recorded run = steps_on_gpu(config, AutoBool::yes, other_each_step, 40);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(run.on);
  EXPECT_LT(run.made, 20);
  EXPECT_NE(said.find("cuda.graphs = true: off: passes are of too many kinds: "), std::string::npos) << said;
  EXPECT_EQ(run.lines, steps_on_gpu(config, AutoBool::no, other_each_step, 40).lines);
}

}  // namespace
}  // namespace octet

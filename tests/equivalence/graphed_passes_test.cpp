// Passes given as graphs beside passes given piece by piece: the same bits of every loss, norm and weight. On the CPU a
// graph is its list done again, so that what is tested is that lists hold all that a pass does, and that none is
// replayed for another.
#include "src/train/step/pass_graphs.h"

#include <functional>

#include "tests/equivalence/trainer_test.h"
#include "tests/support/sampler_of.h"

namespace octet {
namespace {

class GraphedPasses : public TrainerTest {
 protected:
  struct Outcome {
    std::vector<double> numbers;  ///< loss and norm of each step, and of validations
    std::vector<float> weights;
    std::string gemms;  ///< as traced
    std::int64_t replayed = 0, made = 0;
  };

  GraphedPasses() {
    config_.model = {.name = "graphed",
                     .dim = 32,
                     .layers = 2,
                     .heads = 2,
                     .kv_heads = 1,
                     .head_dim = 16,
                     .ffn_dim = 48,
                     .vocab_size = 64};
    config_.train.validation_batches = 1;
  }

  /// Six steps on replicas of one shard each, with a validation behind the third and the fifth.
  Outcome run(AutoBool graphs) {
    config_.graphs = graphs;
    Outcome out;
    GemmTrace gemms;
    Mesh mesh(make_mpi_communicator(*stream_, "world"), {.dp_replicate = world_->size(), .dp_shard = 1});
    Trainer trainer(config_, test::sampler_of(config_), mesh, *world_, *stream_, &gemms);
    for (std::int64_t step = 1; step <= 6; ++step) {
      const StepResult result = train_step(trainer, step);
      out.numbers.insert(out.numbers.end(), {result.loss, result.grad_norm});
      if (step == 3 || step == 5) out.numbers.push_back(trainer.validate());
    }
    const ShardedBuffer& master = trainer.model().master();
    out.weights.assign(master.all(), master.all() + master.layout().elements());
    out.gemms = gemms.json_lines();
    out.replayed = trainer.graphs().replayed();
    out.made = trainer.graphs().made();
    return out;
  }

  /// Runs both, and expects so many graphs and passes that were not replayed.
  void expect_same(std::int64_t made, std::int64_t not_replayed) {
    const std::int64_t micro_batches = batch / world_->size();
    const Outcome without = run(AutoBool::no), with = run(AutoBool::yes);
    EXPECT_EQ(with.numbers, without.numbers);
    EXPECT_EQ(with.weights, without.weights);
    EXPECT_EQ(with.gemms, without.gemms);
    EXPECT_NE(with.numbers[0], with.numbers[2]) << "it learns";
    EXPECT_EQ(without.replayed, 0);
    EXPECT_EQ(with.made, made);
    EXPECT_EQ(with.replayed, 6 * micro_batches - not_replayed);
  }
};

/// Gradients that are written and that are added to. The weights are the masters, so that nothing is cast.
TEST_F(GraphedPasses, OfFp32AreOfTwoKinds) {
  config_.precision = Precision::fp32;
  expect_same(2, 2);
}

/// The very first micro-batch casts weights and takes the memory for them; from then on the update leaves them there.
TEST_F(GraphedPasses, OfBf16AreOfTwoAfterTheFirst) {
  config_.precision = Precision::bf16;
  expect_same(2, 3);
}

/// With weights in fp8 also of first micro-batches, which hold them against their scales, and of those that come after
/// a validation, which has done so.
TEST_F(GraphedPasses, OfFloat8AreOfThreeWhereScalesArePredicted) {
  config_.precision = Precision::float8;
  expect_same(3, 4);
  for (const char* recipe : {"rowwise", "rowwise_with_gw_hp"}) {
    SCOPED_TRACE(recipe);
    config_.float8.recipe = recipe;
    expect_same(2, 3);
  }
}

/// Whose extents are multiples of 128.
TEST_F(GraphedPasses, OfRecipeBlockwiseAreOfTwoAfterTheFirst) {
  config_.precision = Precision::float8;
  config_.float8.recipe = "blockwise";
  config_.model = {.name = "blocks",
                   .dim = 128,
                   .layers = 1,
                   .heads = 2,
                   .kv_heads = 2,
                   .head_dim = 64,
                   .ffn_dim = 128,
                   .vocab_size = 64};
  config_.train.seq_len = 128;
  if (world_->rank() == 0) {
    TokenFileWriter writer(folder_ / "long", TokenType::u8);
    std::vector<std::int32_t> ids(6000);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * i % 47);
    writer.append(ids);
    writer.end_document();
    writer.finish();
  }
  world_->barrier();
  config_.data.train = {{folder_ / "long", 1.0}};
  expect_same(2, 3);
}

/// The number of documents of a row decides the size of their list, so passes are of more kinds; the numbers
/// themselves do not.
TEST_F(GraphedPasses, OfDocumentsHaveTheSameBits) {
  config_.precision = Precision::bf16;
  config_.data.train = {{write_documents(), 1.0}};
  config_.data.document_mask = true;
  const Outcome without = run(AutoBool::no), with = run(AutoBool::yes);
  EXPECT_EQ(with.numbers, without.numbers);
  EXPECT_EQ(with.weights, without.weights);
  EXPECT_EQ(with.gemms, without.gemms);
  EXPECT_GT(with.made, 0);
  EXPECT_GT(with.replayed, with.made);
}

/// A recipe that remembers has other casts in its first step; from then on the update leaves the weights by known
/// scales.
TEST_F(GraphedPasses, OfTheFirstStepOfDelayedAreOfAnotherKind) {
  config_.precision = Precision::float8;
  config_.float8.recipe = "delayed";
  config_.float8.delayed_history = 3;
  expect_same(3, 4);
}

TEST_F(GraphedPasses, MayDoBlocksAgainAndShareTheEmbedding) {
  config_.precision = Precision::bf16;
  config_.model.tied_embedding = true;
  config_.recompute.mode = RecomputeMode::full;
  expect_same(2, 3);
}

/// What is forbidden at start (obstacle_to_graphs) is forbidden here too.
TEST_F(GraphedPasses, AreNoneWhereSomethingForbidsThem) {
  const RunConfig plain = config_;
  const std::vector<std::pair<const char*, std::function<void(RunConfig&)>>> obstacles = {
      {"parallel.one_rank_exchange", [](RunConfig& c) { c.parallel.one_rank_exchange = true; }},
      {"parallel.zero", [](RunConfig& c) { c.parallel.zero = Zero::three; }},
      {"float8.all_gather", [](RunConfig& c) {
         c.precision = Precision::float8;
         c.float8.all_gather = AutoBool::no;
       }}};
  for (const auto& [option, forbid] : obstacles) {
    SCOPED_TRACE(option);
    config_ = plain;
    forbid(config_);
    const Outcome without = run(AutoBool::no);
    testing::internal::CaptureStderr();
    const Outcome with = run(AutoBool::yes);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(with.numbers, without.numbers);
    EXPECT_EQ(with.weights, without.weights);
    EXPECT_EQ(with.replayed, 0);
    EXPECT_NE(said.find(fmt::format("cuda.graphs = true: off: with {}", option)), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace octet

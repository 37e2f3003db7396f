// Training within documents over a run that is cut off.
#include <fmt/format.h>

#include "src/data/token_writer.h"
#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

const std::string masked = "--data.document_mask true ";

/// `next`: the length of the document that begins at a token.
template <typename Next>
std::string documents_of(const std::string& name, Next next) {
  TokenFileWriter writer(workplace() / ("data/" + name), TokenType::u8);
  for (std::int32_t i = 0, length = 0; i < 8000; i += length) {
    length = next(i);
    std::vector<std::int32_t> ids;
    for (std::int32_t j = i; j < i + length; ++j) ids.push_back(j * j % 47);
    writer.append(ids);
    writer.end_document();
  }
  writer.finish();
  return fmt::format("--data.train data/{} --train.micro_batch 1 ", name);
}

/// Documents of 1 to 23 tokens, which rows of 32 cut.
std::string short_documents() {
  static const std::string options = documents_of("short", [](std::int32_t i) { return i * 7 % 23 + 1; });
  return options;
}

std::string on_short_documents(const std::string& steps) {
  return short_documents() + "--precision bf16 --checkpoint.interval 10 --train.steps " + steps + " ";
}

TEST(DocumentMask, AsynchronousTensorParallelismLearnsWhatOneRankLearns) {
  const std::string options = masked + short_documents() + "--train.steps 10 ";
  const std::vector<double> one = finished(1, options).losses();
  for (const char* recompute : {"none", "full"}) {
    const std::string layout = fmt::format("--parallel.tp 2 --parallel.async_tp true --recompute.mode {} ", recompute);
    const std::vector<double> cut = finished(2, options + layout).losses();
    ASSERT_EQ(cut.size(), one.size());
    for (std::size_t step = 0; step < one.size(); ++step) EXPECT_NEAR(cut[step], one[step], 2e-5 * one[step]) << step;
  }
}

/// Of the tiny model 6 FLOPs a token for each of 32,928 parameters but the embedding's, and 12 a key for 2 layers of 64
/// values: of documents of 8 tokens 8 keys a token, and 32 where attention goes over the whole row.
TEST(DocumentMask, CountsWhatIsComputedAndBesideItWhatWouldBeWithoutTheMask) {
  const std::string eights = documents_of("eights", [](std::int32_t) { return 8; });
  const TrainedRun run = train(1, masked + eights + "--train.steps 3 ");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  const double parameters = 6.0 * 32928, key = 12.0 * 2 * 64;
  for (const auto& step : run.metrics()) {
    const double ratio = step["tflops_unmasked"].get<double>() / step["tflops"].get<double>();
    EXPECT_NEAR(ratio, (parameters + 32 * key) / (parameters + 8 * key), 1e-6);
  }
  EXPECT_FALSE(finished(2, on_short_documents("20")).metrics().front().contains("tflops_unmasked"));
}

/// A run's config.yaml has every option, so that it is no error.
TEST(DocumentMask, WhatServesNoDocumentsIsWarnedOf) {
  const TrainedRun run = train(2, short_documents() + "--train.steps 1 --cuda.document_attention own ");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_EQ(occurrences(run.result.err, "cuda.document_attention = own has no effect"), 1);
  EXPECT_EQ(occurrences(finished(2, masked + on_short_documents("20")).result.err, "has no effect"), 0);
}

TEST(DocumentMask, GoesOnToTheSameBits) {
  for (const std::string& options : {masked, masked + "--data.loss_on_first false "}) {
    SCOPED_TRACE(options);
    const TrainedRun& whole = finished(2, options + on_short_documents("20"));
    const TrainedRun run = train(2, options + on_short_documents("10"));
    ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
    const TrainedRun resumed = train_in(run.directory, 2, options + on_short_documents("20"));
    ASSERT_EQ(resumed.result.exit_code, 0) << resumed.result.all();
    EXPECT_HAS(resumed.result.err, "step-000010: step 10, loss ");
    for (const char* key : {"loss", "grad_norm", "tokens"}) EXPECT_EQ(resumed.losses(key), whole.losses(key)) << key;
    EXPECT_EQ(resumed.losses("validation_loss").back(), whole.losses("validation_loss").back());
    expect_same_tensors(checkpoints_of(resumed).front(), checkpoints_of(whole).front());
  }
}

TEST(DocumentMask, IsAnotherResultAndChangesAtAResumeOnlyWhereItIsAllowed) {
  const TrainedRun& within = finished(2, masked + on_short_documents("20"));
  EXPECT_NE(within.losses(), finished(2, on_short_documents("20")).losses());

  const TrainedRun run = train(2, masked + on_short_documents("10"));
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  const auto expect_not_without = [&](const std::string& options, const std::string& reason) {
    const TrainedRun refused = train_in(run.directory, 2, options + on_short_documents("20"));
    EXPECT_EQ(refused.result.exit_code, 64) << refused.result.all();
    EXPECT_HAS(refused.result.err, reason);
    EXPECT_EQ(run.losses().size(), 10u);
  };
  expect_not_without("", "data.document_mask = true there, false now");
  expect_not_without("", "--checkpoint.allow_changes data.document_mask");
  expect_not_without(masked + "--data.loss_on_first false ", "data.loss_on_first = true there, false now");

  const TrainedRun across =
      train_in(run.directory, 2, "--checkpoint.allow_changes data.document_mask " + on_short_documents("20"));
  ASSERT_EQ(across.result.exit_code, 0) << across.result.all();
  EXPECT_HAS(across.result.err, "checkpoint.allow_changes: data.document_mask = true there, false now");
  const auto losses = across.losses(), expected = within.losses();
  ASSERT_EQ(losses.size(), 20u);
  EXPECT_TRUE(std::equal(losses.begin(), losses.begin() + 10, expected.begin()));
  EXPECT_NE(losses[10], expected[10]) << "attention crosses borders from here on";
}

}  // namespace
}  // namespace octet::test

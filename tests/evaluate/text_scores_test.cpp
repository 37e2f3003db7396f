#include "src/evaluate/text_scores.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "src/base/error.h"
#include "src/base/random.h"
#include "src/data/token_writer.h"
#include "src/tokenizer/make_tokenizer.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// Every token of id i costs (i + 1) / 8 nats, and 1 more for each token that is seen before it within the window.
class CountingScorer final : public Scorer {
 public:
  std::int64_t window() const override { return 4; }
  std::int64_t vocab_size() const override { return 256; }
  std::vector<Score> score(std::span<const ScoreRequest> requests, const ScoreProgress& progress) override {
    std::vector<Score> scores;
    for (const ScoreRequest& r : requests) {
      double cost = 0;
      for (std::size_t i = 0; i < r.continuation.size(); ++i) {
        cost += (r.continuation[i] + 1) / 8.0 + static_cast<double>(r.context.size() + i);
      }
      scores.push_back({-cost, false});
    }
    for (std::int64_t done = 1; progress && done <= std::ssize(requests); ++done) progress(done, 10 * done);
    return scores;
  }
};

class ListReader final : public DocumentReader {
 public:
  explicit ListReader(std::vector<EvaluatedDocument> documents) : documents_(std::move(documents)) {}
  bool next(EvaluatedDocument& document) override {
    if (next_ == documents_.size()) return false;
    document = documents_[next_++];
    return true;
  }
  double share() const override { return static_cast<double>(next_) / static_cast<double>(documents_.size()); }

 private:
  std::vector<EvaluatedDocument> documents_;
  std::size_t next_ = 0;
};

std::vector<DocumentScore> scored(const std::vector<EvaluatedDocument>& documents, const RollingOptions& options) {
  ListReader reader(documents);
  CountingScorer scorer;
  return score_documents(reader, scorer, options, nullptr);
}

TEST(ScoreDocuments, SumsTheWindowsOfEachDocumentAndLeavesOutEmptyOnes) {
  const std::vector<EvaluatedDocument> documents{{{7, 7, 7, 7, 7, 7}, 6}, {{}, 0}, {{15}, 3}};
  // Places 0 to 3 see 1 to 4 tokens; the last two, in a window that keeps its context, 3 and 4.
  const auto scores = scored(documents, {.start = 0, .stride = 0});
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[0], (DocumentScore{6, 6, 6 * 1.0 + (1 + 2 + 3 + 4) + (3 + 4)}));
  EXPECT_EQ(scores[1], (DocumentScore{1, 3, 2.0 + 1}));
  EXPECT_EQ(scored(documents, {.start = 0, .stride = 1})[0].loss_sum, 6 + (1 + 2 + 3 + 4) + 4 + 4);
  EXPECT_EQ(scored(documents, {.start = 0, .tokens_at_once = 1}), scores);
  EXPECT_EQ(scored(documents, {.start = 0, .documents = 1}).size(), 1u);
  EXPECT_TRUE(scored({{{}, 0}}, {}).empty());
}

std::vector<double> shares(const std::vector<EvaluatedDocument>& documents, const RollingOptions& options) {
  ListReader reader(documents);
  CountingScorer scorer;
  std::vector<double> out;
  score_documents(reader, scorer, options, [&](const TextProgress& p) {
    out.push_back(p.share);
    EXPECT_EQ(p.windows, std::ssize(out));
    EXPECT_EQ(p.tokens, 10 * p.windows);
  });
  return out;
}

TEST(ScoreDocuments, SaysWhichShareIsDone) {
  const std::vector<EvaluatedDocument> documents{{{7, 7, 7, 7, 7, 7}, 6}, {{}, 0}, {{15}, 3}, {{15}, 3}};
  EXPECT_EQ(shares(documents, {}), (std::vector{0.25, 0.5, 0.75, 1.0}));  // of the windows, all scored together
  EXPECT_EQ(shares(documents, {.tokens_at_once = 1}), (std::vector{0.125, 0.25, 0.75, 1.0}));
  EXPECT_EQ(shares(documents, {.documents = 2}), (std::vector{1.0 / 3, 2.0 / 3, 1.0}));
}

TEST(Summarise, GivesRatiosOfSums) {
  const std::vector<DocumentScore> scores{{10, 40, 20.0}, {30, 50, 40.0}};
  const TextSummary s = summarise(scores, {});
  EXPECT_EQ(s.documents, 2);
  EXPECT_EQ(s.tokens, 40);
  EXPECT_EQ(s.bytes, 90);
  EXPECT_DOUBLE_EQ(s.loss.value, 1.5);
  EXPECT_DOUBLE_EQ(s.perplexity.value, std::exp(1.5));
  EXPECT_DOUBLE_EQ(s.bits_per_byte->value, 60 / (90 * std::numbers::ln2));
  EXPECT_FALSE(summarise({{10, {}, 20.0}}, {}).bits_per_byte);
  EXPECT_FALSE(summarise({{10, {}, 20.0}}, {}).loss.interval);  // of one document
}

TEST(Bootstrap, CoversTheMeanAsOftenAsItSays) {
  int covered = 0;
  constexpr int trials = 200, documents = 100;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> x, ones(documents, 1.0);
    for (std::uint64_t d = 0; d < documents; ++d) {
      x.push_back(random_normal({.seed = 9, .stream = static_cast<std::uint32_t>(trial)}, d, 8.0));
    }
    const auto interval = bootstrap_ratio(x, ones, {.samples = 400, .seed = static_cast<std::uint64_t>(trial)});
    covered += interval->low <= 0 && 0 <= interval->high ? 1 : 0;
    EXPECT_NEAR(interval->high - interval->low, 2 * 1.96 / std::sqrt(double{documents}), 0.15);
  }
  EXPECT_GE(covered, trials * 88 / 100);
  EXPECT_LE(covered, trials * 99 / 100);
}

// Means of many samples are spread as a normal distribution is.
TEST(Bootstrap, IntervalLeavesAsMuchAboveAsBelow) {
  std::vector<double> x, ones(1000, 1.0);
  for (std::size_t i = 0; i < ones.size(); ++i) x.push_back(i % 2 == 0 ? 1.0 : 0.0);
  const auto interval = bootstrap_ratio(x, ones, {.samples = 20000});
  const double error = std::sqrt(0.25 / 1000);
  EXPECT_NEAR((interval->high - 0.5) / error, 1.96, 0.1);
  EXPECT_NEAR((0.5 - interval->low) / error, 1.96, 0.1);
}

TEST(Bootstrap, IsTheSameForTheSameSeed) {
  const std::vector<double> x{1, 5, 2, 8, 3}, n{1, 2, 1, 3, 1};
  EXPECT_EQ(bootstrap_ratio(x, n, {.seed = 1}), bootstrap_ratio(x, n, {.seed = 1}));
  EXPECT_NE(bootstrap_ratio(x, n, {.seed = 1}), bootstrap_ratio(x, n, {.seed = 2}));
}

// What documents have in common is no part of a difference: its interval is far narrower than those of the two.
TEST(Compare, IsPaired) {
  std::vector<DocumentScore> a, b;
  for (std::uint64_t d = 0; d < 200; ++d) {
    const double loss = 300 + 50 * random_normal({.seed = 4}, d, 8.0);
    a.push_back({100, 400, loss});
    b.push_back({100, 400, loss - 2 + 0.5 * random_normal({.seed = 5}, d, 8.0)});
  }
  const TextDifference difference = compare(a, b, {});
  EXPECT_NEAR(difference.loss->value, 0.02, 0.002);
  EXPECT_GT(difference.loss->interval->low, 0.0);
  EXPECT_LT(difference.loss->interval->high - difference.loss->interval->low, 0.004);
  const auto own = summarise(a, {}).loss.interval;
  EXPECT_GT(own->high - own->low, 0.1);
  EXPECT_NEAR(difference.bits_per_byte->value, difference.loss->value / 4 / std::numbers::ln2, 1e-12);
  b.front().tokens = 99;  // another tokenizer
  EXPECT_FALSE(compare(a, b, {}).loss);
  EXPECT_TRUE(compare(a, b, {}).bits_per_byte);
  b[7].bytes = 399;  // another text: each model's tokenizer may leave out other ones as empty
  EXPECT_THROW(compare(a, b, {}), Error);
  b[7].bytes = 400;
  b.pop_back();
  EXPECT_THROW(compare(a, b, {}), Error);
}

class DocumentsTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  static std::vector<EvaluatedDocument> all(DocumentReader& reader) {
    std::vector<EvaluatedDocument> out;
    for (EvaluatedDocument d; reader.next(d);) out.push_back(d);
    return out;
  }
  const test::TempFolder folder_;
  const std::unique_ptr<Tokenizer> bytes_ = make_tokenizer("bytes");
};

TEST_F(DocumentsTest, TextsAndTokensOfThemAreTheSameDocuments) {
  const std::string path = write("a.jsonl", "{\"text\": \"abc\"}\n{\"text\": \"\"}\n{\"text\": \"de\"}\n");
  const auto reader = read_texts({.input = path}, *bytes_);
  const auto texts = all(*reader);
  TokenFileWriter writer(folder_ / "data", TokenType::u8);
  for (const std::vector<std::int32_t>& document : {std::vector<std::int32_t>{97, 98, 99, 0}, {100, 101, 0}}) {
    writer.append(document);
    writer.end_document();
  }
  writer.finish();
  const auto tokens = read_token_documents({.file = std::make_shared<TokenFile>(folder_ / "data"),
                                            .vocab_size = 256,
                                            .eos = bytes_->info().eos,
                                            .tokenizer = bytes_.get()});
  const auto documents = all(*tokens);
  ASSERT_EQ(texts.size(), documents.size());
  for (std::size_t d = 0; d < texts.size(); ++d) {
    EXPECT_EQ(texts[d].tokens, documents[d].tokens);
    EXPECT_EQ(texts[d].bytes, documents[d].bytes);
  }
  EXPECT_EQ(texts.at(0).tokens, (std::vector<std::int32_t>{97, 98, 99}));
  EXPECT_EQ(texts.at(0).bytes, 3);
}

TEST_F(DocumentsTest, OfTokensWhatBeginsAndEndsThemIsLeftOutWhereItIsThere) {
  using Tokens = std::vector<std::int32_t>;
  TokenFileWriter writer(folder_ / "data", TokenType::u8);
  for (const Tokens& document : {Tokens{1, 97, 98, 0}, {97, 98}, {1, 97}, {97, 0}, {1, 1, 97, 0, 0}, {1, 0}, {1}}) {
    writer.append(document);
    writer.end_document();
  }
  writer.finish();
  const auto reader = read_token_documents(
      {.file = std::make_shared<TokenFile>(folder_ / "data"), .vocab_size = 256, .bos = 1, .eos = 0});
  std::vector<Tokens> found;
  for (const EvaluatedDocument& document : all(*reader)) found.push_back(document.tokens);
  EXPECT_EQ(found, (std::vector<Tokens>{{97, 98}, {97, 98}, {97}, {97}, {1, 97, 0}, {}, {}}));
}

TEST_F(DocumentsTest, ReadersSayHowMuchTheyHaveRead) {
  const std::string path = write("a.jsonl", "{\"text\": \"abc\"}\n{\"text\": \"def\"}\n");
  write("b.jsonl", "{\"text\": \"ghi\"}\n{\"text\": \"jkl\"}\n");
  TokenFileWriter writer(folder_ / "data", TokenType::u8);
  for (int document = 0; document < 4; ++document) {
    writer.append(std::vector<std::int32_t>{97, 98, 99, 0});
    writer.end_document();
  }
  writer.finish();
  const auto texts = read_texts({.input = folder_ / "*.jsonl"}, *bytes_);
  const auto tokens = read_token_documents({.file = std::make_shared<TokenFile>(folder_ / "data"), .vocab_size = 256});
  for (const auto& reader : {texts.get(), tokens.get()}) {
    EvaluatedDocument document;
    for (int read = 1; reader->next(document); ++read) EXPECT_EQ(reader->share(), read / 4.0);
    EXPECT_EQ(reader->share(), 1.0);
  }
}

TEST_F(DocumentsTest, BlankLinesDivideAText) {
  const auto reader =
      read_texts({.input = write("a.txt", "one\n\ntwo\nthree\n"), .split = SplitDocuments::blank_lines}, *bytes_);
  EXPECT_EQ(all(*reader).size(), 2u);
}

TEST_F(DocumentsTest, ABrokenLineIsNamed) {
  const auto reader = read_texts({.input = write("a.jsonl", "{\"text\": \"abc\"}\n{\"other\": 1}\n")}, *bytes_);
  try {
    all(*reader);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a.jsonl: line 2: "), std::string::npos) << error.what();
  }
}

// Evaluation has no option that would take it, and the place is said once.
TEST_F(DocumentsTest, TextThatIsNoUtf8IsNamedWithoutAnOptionOfAnotherProgram) {
  const auto tokenizer = make_tokenizer(std::string(OCTET_SOURCE_DIR) + "/tests/tokenizer/golden/bpe-512.json");
  const auto refused = [&](const std::string& path) -> std::string {
    return test::error_of([&] { all(*read_texts({.input = path}, *tokenizer)); });
  };
  const auto ends_with = [](const std::string& what, const std::string& end) {
    EXPECT_TRUE(what.ends_with(end)) << what;
  };
  ends_with(refused(write("a.txt", "caf\xFF\n")), "a.txt: byte 255 at offset 3 is no UTF-8");
  ends_with(refused(write("a.jsonl", "{\"text\": \"\xFF\"}\n")), "a.jsonl: line 1: byte 10 of the line is no UTF-8");
  ends_with(refused(write("b.jsonl", R"({"text": "\ud83d"})")),
            "b.jsonl: line 1: an escape is half of a surrogate pair");
}

}  // namespace
}  // namespace octet

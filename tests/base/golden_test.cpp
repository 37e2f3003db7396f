// The reader of golden files: against a small case written here, against damaged ones, and over all committed cases.
#include "tests/support/golden.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <numeric>

namespace octet {
namespace {

class GoldenTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void write(std::string_view tensors, std::size_t bytes = 24) const {
    std::ofstream(directory_ / "golden.json")
        << R"({"attributes": {"dim": 32, "tied": true}, "tensors": [)" << tensors << "]}";
    std::vector<char> data(bytes);
    const double d[] = {1.0, 1e-300};
    const float f = -0.5f;
    if (bytes >= 20) {
      std::memcpy(data.data(), d, 16);
      std::memcpy(data.data() + 16, &f, 4);
    }
    std::ofstream(directory_ / "golden.bin", std::ios::binary).write(data.data(), static_cast<std::streamsize>(bytes));
  }

  const std::filesystem::path directory_ =
      std::filesystem::path(::testing::TempDir()) / ("octet-golden-" + std::to_string(getpid()));
  static constexpr std::string_view two_tensors =
      R"({"name": "a", "dtype": "f64", "shape": [1, 2], "offset": 0},
         {"name": "b", "dtype": "f32", "shape": [1], "offset": 16})";
};

TEST_F(GoldenTest, ReadsValuesShapesAndAttributes) {
  write(two_tensors);
  const Golden golden(directory_);
  EXPECT_EQ(golden.values<double>("a"), (std::vector<double>{1.0, 1e-300}));
  EXPECT_EQ(golden.values<float>("b"), std::vector<float>{-0.5f});
  EXPECT_EQ(golden.doubles("b"), std::vector<double>{-0.5});
  EXPECT_EQ(golden.entry("a").shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(golden.names("b"), std::vector<std::string>{"b"});
  EXPECT_EQ(golden.names().size(), 2u);
  EXPECT_EQ(golden.attribute<int>("dim"), 32);
  EXPECT_TRUE(golden.attribute<bool>("tied"));
  EXPECT_FALSE(golden.has("c"));
}

TEST_F(GoldenTest, RefusesWrongUse) {
  write(two_tensors);
  const Golden golden(directory_);
  EXPECT_THROW(golden.values<float>("a"), Error);
  EXPECT_THROW(golden.values<float>("c"), Error);
  EXPECT_THROW(golden.attribute<int>("vocabulary"), Error);
  EXPECT_THROW(golden.attribute<std::string>("dim"), Error);
  EXPECT_THROW(Golden::distance(std::vector<float>(2), std::vector<float>(3)), Error);
}

TEST_F(GoldenTest, RefusesDamagedFiles) {
  EXPECT_THROW(Golden{directory_}, Error) << "no files";
  write(two_tensors, 19);
  EXPECT_THROW(Golden{directory_}, Error) << "truncated data";
  write(R"({"name": "a", "dtype": "f16", "shape": [1], "offset": 0})");
  EXPECT_THROW(Golden{directory_}, Error) << "unknown dtype";
  write(R"({"name": "a", "dtype": "f32", "shape": [1]})");
  EXPECT_THROW(Golden{directory_}, Error) << "no offset";
  write("{");
  EXPECT_THROW(Golden{directory_}, Error) << "broken JSON";
}

TEST(GoldenDistance, IsRelativeToTheReference) {
  EXPECT_DOUBLE_EQ(Golden::distance(std::vector<float>{3, 4.5}, std::vector<double>{3, 4}), 0.1);
  EXPECT_DOUBLE_EQ(Golden::distance(std::vector<float>{2, 0}, std::vector<double>{0, 0}), 2.0);
}

// The committed models agree with themselves: shapes with the attributes, targets with tokens, losses with logits.
class GoldenModel : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenModel, IsConsistent) {
  const Golden golden(GetParam());
  const auto size = [&](const char* key) { return golden.attribute<std::int64_t>(key); };
  const std::vector<std::int64_t> batches{size("steps"), size("batch"), size("seq_len")};
  ASSERT_EQ(golden.entry("tokens").shape, batches);
  const auto tokens = golden.values<std::int32_t>("tokens"), targets = golden.values<std::int32_t>("targets");
  const std::size_t seq = static_cast<std::size_t>(size("seq_len"));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_TRUE(tokens[i] >= 0 && tokens[i] < size("vocab_size"));
    if ((i + 1) % seq != 0) {
      ASSERT_EQ(targets[i], tokens[i + 1]);
    }
  }

  const auto logits = golden.doubles("logits");
  const std::size_t vocab = static_cast<std::size_t>(size("vocab_size")), rows = logits.size() / vocab;
  ASSERT_EQ(rows, static_cast<std::size_t>(size("batch")) * seq);
  double loss = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const double* x = logits.data() + row * vocab;
    const double sum = std::accumulate(x, x + vocab, 0.0, [](double s, double v) { return s + std::exp(v); });
    loss += (std::log(sum) - x[targets[row]]) / static_cast<double>(rows);
  }
  const double expected = golden.values<double>("loss")[0];
  EXPECT_NEAR(loss, expected, 1e-6 * expected);
  EXPECT_EQ(golden.values<double>("adamw.losses")[0], expected);

  const auto weights = golden.names("weight.");
  EXPECT_EQ(weights.size(),
            static_cast<std::size_t>(9 * size("layers") + (golden.attribute<bool>("tied_embedding") ? 2 : 3)));
  double square = 0;
  for (const std::string& weight : weights) {
    const std::string parameter = weight.substr(7);
    EXPECT_EQ(golden.entry("gradient." + parameter).shape, golden.entry(weight).shape);
    EXPECT_EQ(golden.entry("final." + parameter).shape, golden.entry(weight).shape);
    for (const double g : golden.doubles("gradient." + parameter)) square += g * g;
  }
  const double norm = golden.values<double>("adamw.grad_norms")[0];
  EXPECT_NEAR(std::sqrt(square), norm, 1e-6 * norm);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenModel, ::testing::Values("llama_untied", "llama_tied", "llama_uneven"),
                         [](const auto& case_info) { return std::string(case_info.param); });

}  // namespace
}  // namespace octet

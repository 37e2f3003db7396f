// Each rank reads texts and weights for itself: what only some of them have ends all of them, with the same words.
#include <filesystem>
#include <functional>

#include "src/base/error.h"
#include "src/evaluate/text_scores.h"
#include "tests/evaluate/evaluate_test.h"
#include "tests/support/expect_has.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

using test::LoadedModel;

/// What all ranks throw together.
std::string common_error(const std::function<void()>& call, ExitCode code = ExitCode::usage) {
  const auto stream = cpu_device().make_stream();
  const auto control = make_mpi_communicator(*stream, "test");
  std::string message;
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_TRUE(error.agreed());
    message = error.what();
  }
  for (const std::string& other : gather_bytes(message, *control)) EXPECT_EQ(other, message);
  return message;
}

bool is_last_rank() {
  const auto stream = cpu_device().make_stream();
  const auto control = make_mpi_communicator(*stream, "test");
  return control->rank() + 1 == control->size();
}

TEST(SameTexts, OtherTokensAndOtherNumbersOfTextsAreRefusedByAll) {
  if (test::ranks() == 1) GTEST_SKIP() << "needs several ranks";
  LoadedModel model(test::golden_folder + "/tied", {});
  const std::vector<ScoreRequest> requests{{{1, 5, 9}, {3, 4}}, {{7}, {7, 7}}, {{2}, {4}}};
  std::vector<ScoreRequest> other = requests, fewer = requests;
  other[1].continuation[0] = 8;
  fewer.resize(1);
  const auto refused = [&](const std::vector<ScoreRequest>& of_last) {
    return common_error([&] { model.scorer().score(is_last_rank() ? of_last : requests, nullptr); });
  };
  EXPECT_HAS(refused(other), "[evaluate] the ranks have read different texts: rank ");
  EXPECT_HAS(refused(fewer), ": has 1 to score, with the hash ");
  EXPECT_HAS(refused(fewer), ", and rank 0 3 to score, with the hash ");
  EXPECT_HAS(refused({}), ": has 0 to score, with the hash ");
  EXPECT_EQ(refused(requests), "");
}

/// So many documents of two tokens.
class ManyDocuments final : public DocumentReader {
 public:
  explicit ManyDocuments(int documents) : documents_(documents) {}
  bool next(EvaluatedDocument& document) override {
    document = {{3, 4}, 2};
    return next_++ < documents_;
  }
  double share() const override { return 0; }

 private:
  int documents_, next_ = 0;
};

// Those before it are scored together, as a whole batch.
TEST(SameTexts, ATextMoreAtTheEndIsRefusedByAll) {
  if (test::ranks() == 1) GTEST_SKIP() << "needs several ranks";
  LoadedModel model(test::golden_folder + "/tied", {});
  for (const int more : {1, 2}) {
    const std::string error = common_error([&] {
      ManyDocuments documents(is_last_rank() ? 4 + more : 4);
      score_documents(documents, model.scorer(), {.start = 1, .tokens_at_once = 4}, nullptr);
    });
    EXPECT_HAS(error, fmt::format(": has {} to score, with the hash ", more));
    EXPECT_HAS(error, ", and rank 0 0 to score, ");
  }
}

// Weights of a Hugging Face folder that one rank finds cut off, under the name that all give it.
TEST(SameWeights, AFolderThatOneRankFindsBrokenEndsAll) {
  if (test::ranks() == 1) GTEST_SKIP() << "needs several ranks";
  const test::TempFolder own;
  std::filesystem::copy(test::golden_folder + "/tied", own / "model");
  if (is_last_rank()) std::filesystem::resize_file(own / "model/model.safetensors", 100);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(own.path());
  const std::string error = common_error([&] { const LoadedModel model("model", {}); });
  std::filesystem::current_path(before);
  EXPECT_HAS(error, fmt::format("[evaluate] model: rank {} on ", test::ranks() - 1));
  EXPECT_HAS(error, "model/model.safetensors");
}

}  // namespace
}  // namespace octet

// Checkpoints of runs that cut the model, evaluated: the loss is that of the run's own validation, in every layout.
#include "src/data/sample_order.h"
#include "tests/jobs/job.h"
#include "tests/support/bytes_identity.h"

namespace octet::test {
namespace {

constexpr std::int64_t length = 32, windows = 1000;  // run.yaml's seq_len
constexpr double fraction = 0.05;

/// Text whose every 32nd token is that which ends documents, so that a window begins as octet-evaluate lets a document
/// begin. data/rows is for training, data/validated has what that validates on, a window a document.
void write_rows() {
  static const bool written = [] {
    const std::string text = simple_text();
    const auto token = [&](std::int64_t i) {
      return i % length == 0 ? 0 : std::int32_t{text[static_cast<std::size_t>(i)]};
    };
    write_tokens(workplace() / "data/rows", windows * length + 1, TokenType::u8, token);
    const WindowSplit split("rows", windows, fraction);
    TokenFileWriter writer(workplace() / "data/validated", TokenType::u8,
                           {.overwrite = false, .tokenizer = test::bytes_tokenizer_identity()});
    for (std::int64_t v = 0; v < split.validation(); ++v) {
      std::vector<std::int32_t> ids;
      for (std::int64_t i = 1; i <= length; ++i) ids.push_back(token(split.validation_window(v) * length + i));
      ids.push_back(0);  // ends the document: no target
      writer.append(ids);
      writer.end_document();
    }
    writer.finish();
    return true;
  }();
  (void)written;
}

double evaluated(const TrainedRun& run, const std::string& arguments, int ranks) {
  static int number = 0;
  const std::string folder = fmt::format("evaluated/layouts-{}", ++number);
  const CommandResult r = in_workplace(
      fmt::format("mpiexec -n {} {}/octet-evaluate {} --precision fp32 --data data/validated {} --output {}", ranks,
                  OCTET_BIN_DIR, run.directory, arguments, folder));
  EXPECT_EQ(r.exit_code, 0) << r.all();
  const auto json = nlohmann::json::parse(read_bytes(workplace() / (folder + "/results.json")));
  EXPECT_EQ(json["results"]["data"]["tokens"], 50 * length);
  return json["results"]["data"]["loss"];
}

struct Layout {
  const char* name;
  int ranks;
  const char* arguments;
};

class EvaluateTrainedIn : public testing::TestWithParam<Layout> {};

TEST_P(EvaluateTrainedIn, HasTheLossOfItsValidation) {
  write_rows();
  const TrainedRun run =
      train(GetParam().ranks, fmt::format("--data.train data/rows --data.validation_fraction {} "
                                          "--train.validation_batches 0 --checkpoint.interval auto {}",
                                          fraction, GetParam().arguments));
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  const double expected = run.losses("validation_loss").back();
  ASSERT_LT(expected, 4.0);  // it has learnt something
  const double alone = evaluated(run, "", 1);
  EXPECT_NEAR(alone, expected, 1e-5 * expected);
  EXPECT_EQ(evaluated(run, "", 2), alone);
  EXPECT_NEAR(evaluated(run, "--tp 2", 2), alone, 1e-5 * alone);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, EvaluateTrainedIn,
    testing::Values(Layout{"tp", 2, "--parallel.tp 2 --parallel.zero 1"},
                    Layout{"pp", 2, "--parallel.pp 2 --train.micro_batch 6 --parallel.zero 1"},
                    Layout{"dp_tp_pp", 8, "--parallel.tp 2 --parallel.pp 2 --train.micro_batch 3 --parallel.zero 1"}),
    [](const auto& layout) { return layout.param.name; });

}  // namespace
}  // namespace octet::test

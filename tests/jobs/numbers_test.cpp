// Runs repeat to the bit, and float8 is in use when it is asked for.
#include <set>
#include <span>

#include "tests/jobs/job.h"

namespace octet::test {
namespace {

using Json = nlohmann::ordered_json;

TEST(Repeatability, TheSameCommandGivesTheSameBits) {
  for (const char* precision : {"bf16", "float8"}) {
    for (const int ranks : {2, 3}) {
      SCOPED_TRACE(fmt::format("{}, {} ranks", precision, ranks));
      const std::string arguments = fmt::format("--precision {} --train.micro_batch 1", precision);
      const TrainedRun& first = finished(ranks, arguments);
      const TrainedRun second = train(ranks, arguments);
      ASSERT_EQ(second.result.exit_code, 0) << second.result.all();
      EXPECT_EQ(second.losses().size(), 20u);
      for (const char* key : {"loss", "grad_norm", "validation_loss"}) EXPECT_EQ(first.losses(key), second.losses(key));
    }
  }
}

TEST(Repeatability, TheSeedChangesTheRun) {
  const TrainedRun& first = finished(2, "--precision bf16 --train.micro_batch 1");
  const TrainedRun other = train(2, "--precision bf16 --train.micro_batch 1 --run.seed 2 --train.steps 1");
  ASSERT_EQ(other.result.exit_code, 0) << other.result.all();
  EXPECT_NE(other.losses().at(0), first.losses().at(0));
}

/// What a trace says, from one rank of two.
struct Trace {
  explicit Trace(const TrainedRun& run) {
    for (const Json& line : run.lines("trace-rank1.jsonl")) {
      if (line["operation"] == "gemm") {
        const std::string formats = line["a"].get<std::string>() + " x " + line["b"].get<std::string>();
        gemms.insert({line["unit"], line["linear"], line["gemm"], formats});
      } else if (line["operation"] == "all_gather") {
        gathered[line["dtype"]] += line["bytes"].get<std::int64_t>();
      }
    }
  }
  std::set<std::vector<std::string>> gemms;
  std::map<std::string, std::int64_t> gathered;  ///< bytes by dtype
};

bool is_float8(const std::string& formats) {
  return formats.find("e4m3") != std::string::npos || formats.find("e5m2") != std::string::npos;
}

class Traces : public testing::Test {
 protected:
  const TrainedRun& float8_ = finished(2, "--precision float8 --train.steps 2 --comm.trace true");
  const TrainedRun& bf16_ = finished(2, "--precision bf16 --train.steps 2 --comm.trace true");
};

TEST_F(Traces, ShowFloat8GemmsInTheSevenLinearsOnly) {
  const Trace trace(float8_);
  std::set<std::string> in_float8, in_bf16;
  for (const auto& gemm : trace.gemms) (is_float8(gemm[3]) ? in_float8 : in_bf16).insert(gemm[1]);
  const std::set<std::string> seven = {"attention.wq",    "attention.wk",    "attention.wv",   "attention.wo",
                                       "feed_forward.w1", "feed_forward.w2", "feed_forward.w3"};
  EXPECT_EQ(in_float8, seven);
  EXPECT_EQ(in_bf16, (std::set<std::string>{"output"}));
  for (const std::string& linear : seven) {
    for (const char* unit : {"block.0", "block.1"}) {
      EXPECT_TRUE(trace.gemms.contains({unit, linear, "output", "e4m3 x e4m3"})) << unit << " " << linear;
      EXPECT_TRUE(trace.gemms.contains({unit, linear, "grad_input", "e5m2 x e4m3"})) << unit << " " << linear;
      EXPECT_TRUE(trace.gemms.contains({unit, linear, "grad_weight", "e5m2 x e4m3"})) << unit << " " << linear;
    }
  }
}

/// A dry run of the same command line asks the same of its groups, line by line, until the run validates.
TEST_F(Traces, AreThoseOfTheDryRun) {
  const std::string wanted = "run.yaml --precision float8 --train.steps 2 --dry-run --ranks 2";
  for (const int rank : {0, 1}) {
    const std::string file = fmt::format("dry-{}.jsonl", rank);
    const CommandResult dry = in_workplace(fmt::format("{} {} --rank {} --trace {}", octet_train, wanted, rank, file));
    ASSERT_EQ(dry.exit_code, 0) << dry.all();
    const auto lines_of = [](const std::string& text, bool gemms) {
      std::vector<std::string> lines;
      std::istringstream in(text);
      for (std::string line; std::getline(in, line);) {
        const auto json = nlohmann::json::parse(line);
        if (json.value("group", "") == "control" || (json["operation"] == "gemm") != gemms) continue;
        lines.push_back(line);
      }
      return lines;
    };
    const std::string real = read_bytes(float8_.file(fmt::format("trace-rank{}.jsonl", rank)));
    for (const bool gemms : {false, true}) {
      const auto expected = lines_of(real, gemms), found = lines_of(read_bytes(workplace() / file), gemms);
      ASSERT_FALSE(found.empty());
      ASSERT_GE(expected.size(), found.size());
      EXPECT_TRUE(std::ranges::equal(found, std::span(expected).first(found.size()))) << "rank " << rank;
    }
  }
}

TEST_F(Traces, ShowNoFloat8InABf16Run) {
  const Trace trace(bf16_);
  EXPECT_FALSE(trace.gemms.empty());
  for (const auto& gemm : trace.gemms) EXPECT_EQ(gemm[3], "bf16 x bf16") << gemm[0] << " " << gemm[1];
  for (const auto& [dtype, bytes] : trace.gathered) EXPECT_FALSE(is_float8(dtype)) << dtype << " " << bytes;
}

TEST_F(Traces, ShowThatWeightsTravelAsBytes) {
  auto float8 = Trace(float8_).gathered, bf16 = Trace(bf16_).gathered;
  // All weights of the seven linears of a block, some number of times.
  constexpr std::int64_t block = 32 * 64 + 2 * 32 * 32 + 64 * 32 + 3 * 32 * 64;
  EXPECT_GT(float8["e4m3"], 0);
  EXPECT_EQ(float8["e4m3"] % block, 0);
  EXPECT_EQ(float8["e5m2"], 0);
  EXPECT_EQ(2 * float8["e4m3"] + float8["bf16"], bf16["bf16"]);
}

TEST_F(Traces, AreWrittenByEveryRankAndOnlyWhenAsked) {
  EXPECT_TRUE(float8_.has("trace-rank0.jsonl"));
  EXPECT_TRUE(float8_.has("trace-rank1.jsonl"));
  const TrainedRun& silent = finished(2, "--precision float8 --train.micro_batch 1");
  EXPECT_FALSE(silent.has("trace-rank0.jsonl"));
  const std::vector<double> same = {silent.losses().at(0), silent.losses().at(1)};
  EXPECT_EQ(float8_.losses(), same) << "tracing changes no number";
}

TEST_F(Traces, LossesOfTheTwoPrecisionsDiffer) {
  EXPECT_NE(float8_.losses().at(0), bf16_.losses().at(0));
  EXPECT_LT(distance(float8_.losses(), bf16_.losses()), 1e-2);
}

}  // namespace
}  // namespace octet::test

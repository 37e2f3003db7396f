// The covering array of tests/jobs/pairs.txt: every two values of two features of a step meet in a run that trains with
// the expected losses, or is refused at start with a message. There is no third outcome.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/jobs/job.h"

namespace octet::test {
namespace {

struct Pair {
  std::string numbers, recompute, gradient_wire, zero, all_gather, refused;
  int dp_shard = 1, dp_replicate = 1, tp = 1;

  int ranks() const { return dp_shard * dp_replicate * tp; }
  bool is_float8() const { return numbers != "fp32" && numbers != "bf16"; }
  /// Of losses, of the first step's gradient norm, before which no weight has changed, and of all norms.
  struct Tolerances {
    double losses, first_norm, norms;
  };
  /// Of gradient norms three times what was measured over three steps of the tiny model; where all is fp32 that is a
  /// last bit, and more is left for other processors.
  Tolerances tolerances() const {
    if (is_float8()) return {2e-2, 1.5e-3, 9e-3};            // 3e-4, 5.1e-4, 2.9e-3
    if (numbers == "bf16") return {3e-3, 1.2e-3, 5e-3};      // 2e-4, 3.7e-4, 1.5e-3
    if (gradient_wire == "bf16") return {3e-3, 3e-4, 6e-4};  // 2e-6, 9.3e-5, 1.8e-4
    return {2e-5, 1e-6, 5e-6};                               // 1e-7, 0, 7e-8
  }
  std::string arguments() const {
    return (is_float8() ? "--precision float8 --float8.recipe " : "--precision ") + numbers +
           fmt::format(
               " --parallel.dp_shard {} --parallel.dp_replicate {} --parallel.tp {} --recompute.mode {}{} "
               "--parallel.gradient_wire {} --parallel.zero {} --float8.all_gather {}",
               dp_shard, dp_replicate, tp, recompute, recompute == "selective" ? " --recompute.preset ffn" : "",
               gradient_wire, zero, all_gather);
  }
};

std::vector<Pair> pairs() {
  std::ifstream file(OCTET_SOURCE_DIR "/tests/jobs/pairs.txt");
  std::vector<Pair> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Pair p;
    words >> p.numbers >> p.dp_shard >> p.dp_replicate >> p.tp >> p.recompute >> p.gradient_wire >> p.zero >>
        p.all_gather >> p.refused;
    all.push_back(p);
  }
  return all;
}

const std::string same = " --train.steps 3 --train.micro_batch 1 --checkpoint.interval off ";

TEST(Pairs, TrainAsOneRankDoesOrAreRefused) {
  const auto cases = pairs();
  ASSERT_GT(cases.size(), 10u);
  const TrainedRun& expected = finished(1, "--precision fp32" + same);
  for (const Pair& p : cases) {
    SCOPED_TRACE(p.arguments());
    if (p.refused == "-") {
      const TrainedRun& run = finished(p.ranks(), p.arguments() + same);
      EXPECT_EQ(run.losses().size(), 3u);
      const Pair::Tolerances most = p.tolerances();
      EXPECT_LT(distance(run.losses(), expected.losses()), most.losses);
      const auto norms = run.losses("grad_norm"), expected_norms = expected.losses("grad_norm");
      EXPECT_LT(distance(norms, expected_norms), most.norms);
      EXPECT_LT(distance({norms.at(0)}, {expected_norms.at(0)}), most.first_norm);
    } else {
      const std::string directory = new_run_directory();
      const CommandResult r =
          in_workplace(launched(p.ranks(), "run.yaml " + p.arguments() + same + "--run.dir " + directory), 60);
      EXPECT_EQ(r.exit_code, 64) << r.all();
      EXPECT_HAS(r.err, p.refused);
      EXPECT_FALSE(std::filesystem::exists(workplace() / directory));
    }
  }
}

}  // namespace
}  // namespace octet::test

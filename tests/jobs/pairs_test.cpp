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
      // Measured over three steps of the tiny model: 1e-7, 6e-4 and 3e-3.
      EXPECT_LT(distance(run.losses(), expected.losses()), p.numbers == "fp32" && p.gradient_wire == "fp32" ? 2e-5
                                                           : p.is_float8()                                  ? 2e-2
                                                                                                            : 3e-3);
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

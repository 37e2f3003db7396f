// Runs whose files an earlier commit wrote (tests/written) go on, with the losses that the programs of that commit had.
// A version that can no longer read a commit's files says so here: the run then ends with 64 and the reason.
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

struct Written {
  std::string commit, run;
  double tolerance;  ///< on losses: another processor may sum GEMMs in another order
};

class WrittenRun : public testing::TestWithParam<Written> {
 protected:
  /// A copy of the commit's folder, which a run changes.
  std::string copy() const {
    static int number = 0;
    std::string folder = fmt::format("written/{}", ++number);
    fs::create_directories(workplace() / "written");
    fs::copy(OCTET_SOURCE_DIR "/tests/written/" + GetParam().commit, workplace() / folder, fs::copy_options::recursive);
    return folder;
  }

  TrainedRun resumed(const std::string& folder, int ranks, const std::string& arguments) const {
    std::string settings =
        GetParam().run == "delayed" ? "float8 --float8.recipe delayed --float8.delayed_history 4" : "fp32";
    if (GetParam().run == "mixed")
      settings += " --data.train '[{path: data/text, weight: 3}, {path: data/other, weight: 1.7}]'";
    const std::string command = launched(ranks, fmt::format("run.yaml --precision {} --run.dir {} --train.steps 20 {}",
                                                            settings, GetParam().run, arguments));
    return {run_command("cd " + (workplace() / folder) + " && export OMP_NUM_THREADS=1 && exec " + command, 120),
            folder + "/" + GetParam().run};
  }
};

TEST_P(WrittenRun, GoesOnWithTheLossesOfThen) {
  for (const auto& [ranks, arguments] : {std::pair{2, ""}, {1, "--train.micro_batch 8"}}) {
    if (ranks == 1 && GetParam().run == "delayed") continue;  // the same scales need the same micro-batches on a rank
    SCOPED_TRACE(fmt::format("{} rank(s)", ranks));
    const TrainedRun run = resumed(copy(), ranks, arguments);
    ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
    expect_whole_until(run, 20);
    std::vector<double> expected, before;
    for (const auto& line : run.lines("expected.jsonl")) expected.push_back(line["loss"]);
    ASSERT_EQ(expected.size(), 10u);
    const std::vector<double> losses = run.losses();
    EXPECT_LT(distance({losses.begin() + 10, losses.end()}, expected), GetParam().tolerance);
    EXPECT_GT(losses.front(), losses.back() + 0.5) << "it learns: a run that began anew would show";
    EXPECT_HAS(run.result.err, "data: their order is of version 1, which the run began with");
  }
}

TEST_P(WrittenRun, IsRefusedWithOtherData) {
  const std::string folder = copy();
  fs::copy(workplace() / "data", workplace() / (folder + "/data"),
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  const TrainedRun run = resumed(folder, 2, "");
  EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
  EXPECT_HAS(run.result.err, "data.train");
}

INSTANTIATE_TEST_SUITE_P(Commits, WrittenRun,
                         testing::Values(Written{"dd20a42", "fp32", 1e-5}, Written{"dd20a42", "delayed", 2e-3},
                                         Written{"66f408f", "mixed", 1e-5}),
                         [](const auto& one) { return one.param.commit + "_" + one.param.run; });

}  // namespace
}  // namespace octet::test

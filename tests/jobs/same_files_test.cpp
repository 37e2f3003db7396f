// A host on which a mount is missing: files that others see are not there. Rank 1, or rank 0, runs in another folder,
// from which the relative paths lead nowhere, and takes itself for one of another node, by Slurm's variables: one rank
// of a node looks for all of it.
#include <set>

#include "tests/jobs/saved.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

/// Two ranks; the one of that number in a folder where only what is absolute is found.
CommandResult run_with_lost(int rank, const std::string& plain) {
  fs::create_directories(workplace() / "elsewhere");
  const std::string lost = fmt::format(
      "-n 1 env -u MPI_LOCALNRANKS -C {}/elsewhere SLURM_STEP_ID=0 SLURMD_NODENAME=lost {}", workplace().path(), plain);
  const std::string here = "-n 1 " + plain;
  return in_workplace(fmt::format("mpiexec {} : {}", rank == 0 ? lost : here, rank == 0 ? here : lost));
}
CommandResult train_with_lost(int rank, const std::string& arguments) {
  return run_with_lost(rank, fmt::format("{} {}/run.yaml {}", octet_train, workplace().path(), arguments));
}

TEST(SameFiles, ARunDirectoryThatOneHostDoesNotHave) {
  const std::string data = fmt::format("--data.train {}/data/text --checkpoint.interval 1000", workplace().path());
  const TrainedRun run = train(2, "--train.steps 2 " + data);
  ASSERT_EQ(steps_of(run), std::vector<std::int64_t>{2}) << run.result.err;
  for (const int rank : {0, 1}) {
    SCOPED_TRACE(rank);
    const CommandResult r = train_with_lost(rank, "--train.steps 4 --run.dir " + run.directory + " " + data);
    EXPECT_EQ(r.exit_code, 76) << r.all();
    EXPECT_HAS(r.err, "[files] leave out hosts lost: cannot read " + run.directory);
    EXPECT_HAS(r.err, "is not there, where others see it");
    EXPECT_FALSE(fs::exists(workplace() / "elsewhere/runs")) << "nothing is begun in its place";
    EXPECT_EQ(steps_of(run), std::vector<std::int64_t>{2});
  }
}

TEST(SameFiles, DataThatOneHostDoesNotHave) {
  const std::string directory = fmt::format("{}/{}", workplace().path(), new_run_directory());
  for (const int rank : {0, 1}) {
    const CommandResult r = train_with_lost(rank, "--run.dir " + directory);
    EXPECT_EQ(r.exit_code, 76) << r.all();
    EXPECT_HAS(r.err,
               "leave out hosts lost: cannot read data/text.bin on 1 of 2 host(s): is not there, where others see");
  }
}

/// octet-evaluate opens its data as training does: one rank of each node looks.
TEST(SameFiles, DataOfAnEvaluationThatOneHostDoesNotHave) {
  const std::string model = saved_run().file("checkpoints");
  for (const int rank : {0, 1}) {
    const CommandResult r = run_with_lost(rank, octet_evaluate + model + " --data data/text");
    EXPECT_EQ(r.exit_code, 76) << r.all();
    EXPECT_HAS(r.err, "leave out hosts lost: cannot read data/text.bin on 1 of 2 host(s): is not there, where others");
  }
}

/// Of one part alone both hosts count as many as there are sources.
TEST(SameFiles, TheOnlyPartThatOneHostDoesNotHave) {
  for (const char* ending : {".bin", ".idx"}) {
    fs::copy(workplace() / ("data/text" + std::string(ending)),
             workplace() / ("data/single-00001-of-00001" + std::string(ending)));
  }
  const std::string directory = fmt::format("{}/{}", workplace().path(), new_run_directory());
  for (const int rank : {0, 1}) {
    const CommandResult r = train_with_lost(rank, "--data.train data/single --run.dir " + directory);
    EXPECT_EQ(r.exit_code, 76) << r.all();
    EXPECT_HAS(r.err, "leave out hosts lost: cannot read data/single-00001-of-00001.bin on 1 of 2 host(s)");
  }
}

TEST(SameFiles, AConfigurationThatOneHostDoesNotHave) {
  fs::create_directories(workplace() / "elsewhere");
  const CommandResult r = in_workplace(fmt::format("mpiexec -n 1 {0} run.yaml : -n 1 env -C {1}/elsewhere {0} run.yaml",
                                                   octet_train, workplace().path()));
  EXPECT_EQ(r.exit_code, 70) << r.all();
  EXPECT_HAS(r.err, "cannot read what the command names on 1 of 1 host(s): [config] run.yaml: cannot be read");
}

/// In place of what is there a link that only a process in the workplace can follow.
void hide(const std::string& path, const std::string& name) {
  fs::create_directories(workplace() / "hidden");
  fs::rename(path, workplace() / ("hidden/" + name));
  fs::create_symlink("/proc/self/cwd/hidden/" + name, path);
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

TEST(SameFiles, CheckpointsThatOneHostDoesNotSeeKeepTheirNames) {
  const std::string data = fmt::format("--data.train {}/data/text", workplace().path());
  const TrainedRun run = train(2, "--train.steps 2 --checkpoint.interval '1 steps' " + data);
  ASSERT_EQ(steps_of(run), (std::vector<std::int64_t>{2, 1})) << run.result.err;
  const std::string root = run.file("checkpoints"), newest = checkpoints_of(run).front();
  const std::string hidden = workplace() / "hidden/all";
  const std::set<std::string> names = names_in(root);
  const std::string directory = fmt::format("{}/{}", workplace().path(), run.directory);
  const auto expect_refused = [&](int rank, const std::string& path, const std::string& folder) {
    SCOPED_TRACE(fmt::format("rank {} without {}", rank, path));
    const CommandResult r = train_with_lost(rank, "--train.steps 4 --run.dir " + directory + " " + data);
    EXPECT_EQ(r.exit_code, 76) << r.all();
    EXPECT_HAS(r.err, "[files] leave out hosts lost: cannot read " + path);
    EXPECT_EQ(r.err.find("DAMAGED"), std::string::npos) << r.err;
    EXPECT_EQ(names_in(folder), names);
  };
  hide(newest, "newest");
  for (const int rank : {0, 1}) expect_refused(rank, newest, root);
  hide(root, "all");
  for (const int rank : {0, 1}) expect_refused(rank, root, hidden);
  const CommandResult r = in_workplace(launched(2, "run.yaml --train.steps 4 --run.dir " + directory + " " + data));
  EXPECT_EQ(r.exit_code, 0) << r.all();
  EXPECT_HAS(r.err, newest);
}

}  // namespace
}  // namespace octet::test

// Ranks that were started with different options, or that read different files of them, end together.
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

void expect_refused(const CommandResult& r, const std::string& what, const std::string& first,
                    const std::string& second) {
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_EQ(occurrences(r.err, what), 1) << r.err;
  EXPECT_HAS(r.err, ", 1 rank(s) (0): " + first + "; node(s) ");
  EXPECT_HAS(r.err, ", 1 rank(s) (1): " + second + "; expected the same on every rank");
}

/// Two ranks with the same words, which lead the second to another run.yaml.
CommandResult with_other_steps(const std::string& command) {
  write_bytes(workplace() / "other-steps/tiny.yaml", tiny_model);
  std::string other = run_file;
  other.replace(other.find("steps: 20"), 9, "steps: 21");
  write_bytes(workplace() / "other-steps/run.yaml", other);
  return in_workplace(fmt::format("mpiexec -n 1 {0} : -n 1 env -C {1}/other-steps {0}", command, workplace().path()));
}

TEST(SameConfiguration, ARunOfTwoConfigurationsIsRefused) {
  const std::string run = new_run_directory(), command = octet_train + " run.yaml --run.dir " + run;
  const std::string what = "[ranks] the ranks have different configurations: node(s) ";
  expect_refused(
      in_workplace(fmt::format("mpiexec -n 1 {0} --optimizer.lr 1e-3 : -n 1 {0} --optimizer.lr 5e-1", command)), what,
      "optimizer.lr = 0.001", "optimizer.lr = 0.5");
  expect_refused(with_other_steps(command), what, "train.steps = 20", "train.steps = 21");
  EXPECT_FALSE(fs::exists(workplace() / run)) << "nothing is begun";
}

// Where each node has a folder of its own.
TEST(SameConfiguration, TheSameModelByAnotherPathIsTheSame) {
  write_bytes(workplace() / "another-node/tiny.yaml", tiny_model);
  write_bytes(workplace() / "another-node/run.yaml", run_file);
  const std::string command = fmt::format("{0} run.yaml --train.steps 2 --run.dir {1}/{2} --data.train {1}/data/text",
                                          octet_train, workplace().path(), new_run_directory());
  const CommandResult r =
      in_workplace(fmt::format("mpiexec -n 1 {0} : -n 1 env -C {1}/another-node {0}", command, workplace().path()));
  EXPECT_EQ(r.exit_code, 0) << r.all();
}

TEST(SameConfiguration, AMeasurementWithTwoSizesIsRefused) {
  const std::string command = OCTET_BIN_DIR "/octet-commbench --min 8 --max ";
  expect_refused(in_workplace(fmt::format("mpiexec -n 1 {0}8 : -n 1 {0}16", command)),
                 "[ranks] the ranks have different options: node(s) ", "--min 8 --max 8", "--min 8 --max 16");
  expect_refused(with_other_steps(OCTET_BIN_DIR "/octet-commbench --config run.yaml"),
                 "[ranks] the ranks have different options: node(s) ", "train.steps = 20", "train.steps = 21");
}

}  // namespace
}  // namespace octet::test

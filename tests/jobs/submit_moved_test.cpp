#include "src/metrics/status.h"
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

/// A run directory that was renamed or copied after its first submission, which noted the path of then.
class SubmitMoved : public Submit {
 protected:
  void SetUp() override {
    Submit::SetUp();
    ASSERT_EQ(submit_run("--train.steps 3 --checkpoint.interval 3").exit_code, 0);
    there = workplace() / directory;
  }
  CommandResult submit_there(const std::string& more = "") const {
    return submit(fmt::format("{} --cluster local --nodes 2 {}", directory, more));
  }
  void rename() {
    directory += "-renamed";
    fs::rename(there, workplace() / directory);
  }
  void copy() {
    const std::string from = directory;
    directory += "-copied";
    fs::copy(workplace() / from, workplace() / directory, fs::copy_options::recursive);
  }
  /// Where the last job trains.
  void expect_trains_in(const std::string& folder, const std::string& job) const {
    const std::string script = read("job-" + job + ".sh");
    for (const std::string& line : {"run_dir=" + folder, "run_config=" + folder + "/submitted.yaml",
                                    "#SBATCH --output=" + folder + "/job-%j.out"}) {
      EXPECT_EQ(lines_with(line, script), 1) << line << "\n" << script;
    }
  }

  std::string there;  ///< of the first submission
};

TEST_F(SubmitMoved, ARenamedRunGoesOnWhereItIs) {
  const std::string trained = fmt::format("cd / && OMP_NUM_THREADS=1 mpiexec -n 2 {} ", octet_train);
  ASSERT_EQ(run_command(trained + there + "/submitted.yaml", 120).exit_code, 0);
  rename();
  const std::string here = workplace() / directory;
  const CommandResult r = submit_there("--train.steps 5");
  ASSERT_EQ(r.exit_code, 0) << r.all();
  const std::string warning =
      fmt::format("{}: its submitted.yaml says run.dir = \"{}\", so it was renamed or copied", directory, there);
  EXPECT_EQ(lines_with(warning, r.err), 1) << r.err;
  expect_trains_in(here, "102");
  const std::string options = fmt::format("--run.dir={} --train.steps=5", here);
  expect_in("train_options=(" + options + ")\n", read("job-102.sh"));
  const CommandResult more = run_command(trained + here + "/submitted.yaml " + options, 120);
  EXPECT_EQ(more.exit_code, 0) << more.all();
  EXPECT_EQ(lines_with("\"step\":", read_bytes(file("metrics.jsonl"))), 5) << "not from the first step";
  EXPECT_FALSE(fs::exists(there));
}

TEST_F(SubmitMoved, ACopyLeavesTheOriginalAlone) {
  copy();
  const CommandResult r = submit_there();
  ASSERT_EQ(r.exit_code, 0) << r.all();
  expect_in(there, r.err);
  expect_trains_in(workplace() / directory, "102");
  EXPECT_NE(name_of("101"), name_of("102")) << "they would wait for each other";
  EXPECT_EQ(lines_with("\"id\"", read_bytes(there + "/jobs.jsonl")), 1);
}

/// The file is a configuration as any other: it says where its run is, and the user is told.
TEST_F(SubmitMoved, ItsFileLeadsToWhereItWas) {
  const std::string warning = "to go on in ";
  const CommandResult before = submit(fmt::format("{}/submitted.yaml --cluster local --nodes 2", directory));
  EXPECT_EQ(before.exit_code, 0) << before.all();
  expect_not_in(warning, before.err);
  rename();
  const CommandResult r = submit(fmt::format("{}/submitted.yaml --cluster local --nodes 2", directory));
  ASSERT_EQ(r.exit_code, 0) << r.all();
  EXPECT_EQ(lines_with(fmt::format("{}/submitted.yaml: says run.dir = \"{}\", where this run trains; {}\"{}\"",
                                   directory, there, warning, directory),
                       r.err),
            1)
      << r.err;
  expect_trains_in(there, "103");
}

TEST_F(SubmitMoved, AnotherPathToTheDirectoryIsNoMove) {
  fs::create_directory_symlink(there, there + "-link");
  directory += "-link";
  const CommandResult r = submit_there();
  ASSERT_EQ(r.exit_code, 0) << r.all();
  expect_not_in("was renamed", r.err);
  expect_trains_in(there, "102");
}

/// The same word stands for a file and for a value.
TEST_F(SubmitMoved, TheDirectoryMayBeSaidTwice) {
  for (const char* form : {"--run.dir {}", "--run.dir={}"}) {
    const CommandResult same = submit_there(fmt::format(fmt::runtime(form), directory));
    EXPECT_EQ(same.exit_code, 0) << same.all();
    expect_trains_in(there, read("last").substr(0, 3));
  }
  rename();
  const CommandResult renamed = submit_there("--run.dir " + directory);
  EXPECT_EQ(renamed.exit_code, 0) << renamed.all();
  expect_trains_in(workplace() / directory, "104");
}

/// The run's settings, in a directory of their own.
TEST_F(SubmitMoved, AnotherDirectoryIsTakenWhereItIsSaid) {
  const CommandResult r = submit_there("--run.dir " + directory + "-other");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  expect_not_in("was renamed", r.err);
  expect_trains_in(there + "-other", "102");
}

/// A copy has the numbers and names of the original's jobs.
TEST_F(SubmitMoved, ACopyFindsNoJobsOfTheOriginal) {
  write_bytes(fake / "queue", fmt::format("101|RUNNING, |{}|{}/job.sh\n", name_of("101"), there));
  const std::string original = directory;
  copy();
  expect_not_in("RUNNING", submit("status " + directory).out);
  expect_in("no job of", submit("cancel " + directory).out);
  expect_in("101 RUNNING", submit("status " + original).out);
  // Of a directory that was renamed the jobs name the path of then.
  fs::remove_all(workplace() / directory);
  directory = original;
  rename();
  expect_in("cancelled 101", submit("cancel " + directory).out);
}

TEST_F(SubmitMoved, ACopySaysWhoseJobsTheOldOnesAre) {
  const std::string original = directory;
  copy();
  const std::string line = fmt::format("copy     of {}, whose jobs 101 stand in its jobs.jsonl too\n", there);
  const CommandResult none = submit("status " + directory);
  EXPECT_EQ(none.exit_code, 0) << none.all();
  expect_in(line + "jobs     none of its own yet\n", none.out);
  EXPECT_EQ(submit("logs " + directory).exit_code, 64);
  ASSERT_EQ(submit_there().exit_code, 0);
  fs::remove(fake / "calls");
  expect_in(line + "jobs     102\n", submit("status " + directory).out);
  expect_in("sacct --noheader --parsable2 --allocations --jobs=102 ", read("calls"));
  expect_not_in("copy ", submit("status " + original).out);
  // A copy of the copy, and records of an older version, which have no directory.
  copy();
  expect_in("whose jobs 101,102 stand", submit("status " + directory).out);
  std::string records = read_bytes(file("jobs.jsonl"));
  for (std::size_t at = 0; (at = records.find(",\"run_dir\"")) != std::string::npos;) {
    records.erase(at, records.find('}', at) - at);
  }
  write_bytes(file("jobs.jsonl"), records);
  expect_in("whose jobs 101", submit("status " + directory).out);
}

TEST_F(SubmitMoved, ARenamedRunHasItsJobs) {
  rename();
  const CommandResult r = submit("status " + directory);
  expect_in("jobs     101\n", r.out);
  expect_not_in("copy ", r.out);
}

}  // namespace
}  // namespace octet::test

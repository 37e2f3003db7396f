// The number of a submitted job, and jobs.jsonl, which keeps it: what a site's sbatch prints, a full disk, long names.
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

class SubmitRecord : public Submit {
 protected:
  /// As the fixture's sbatch, with lines of the site's own.
  void wrap_sbatch(const std::string& before, const std::string& after) {
    program("slurms-sbatch", fake_sbatch);
    program("sbatch",
            fmt::format("#!/bin/bash\n[[ $1 != --parsable ]] || echo '{}'\n\"$FAKE/bin/slurms-sbatch\" \"$@\" {}\n",
                        before, after));
  }
};

TEST_F(SubmitRecord, TheJobsNumberMayStandAmongLinesOfTheSite) {
  wrap_sbatch("Your project has 12 GPU hours left", "| sed 's/^[0-9]*$/&;mars/' && echo 'Thank you'");
  const CommandResult r = submit_run();
  ASSERT_EQ(r.exit_code, 0) << r.all();
  expect_in("submitted 101 on 2 nodes", r.out);
  EXPECT_EQ(lines_with("\"id\":\"101\"", read_bytes(file("jobs.jsonl"))), 1);
}

TEST_F(SubmitRecord, AJobWhoseNumberIsNotSaidMayBeInTheQueue) {
  wrap_sbatch("queued", "| sed 's/^[0-9]*$/as you wished/'");
  const CommandResult r = submit_run("--chain 2 --checkpoint.interval 5");
  EXPECT_EQ(r.exit_code, 70) << r.all();
  expect_in(R"(sbatch --parsable printed "queued\x0Aas you wished\x0A", expected a line with the number of a job)",
            r.err);
  expect_in(fmt::format("`squeue --me --name={}` shows it", name_of("101")), r.err);
  EXPECT_FALSE(has("jobs.jsonl"));
}

TEST_F(SubmitRecord, ALineThatWasBrokenOffIsLeftOut) {
  ASSERT_EQ(submit_run().exit_code, 0);
  const std::string whole = read_bytes(file("jobs.jsonl"));
  write_bytes(file("jobs.jsonl"), whole + whole.substr(0, 20));
  const std::string warning =
      R"(jobs.jsonl:2: "{\"id\":\"101\",\"name\":\"" is a line that was cut off, and is ignored)";
  const CommandResult looked = submit("status " + directory);
  EXPECT_EQ(looked.exit_code, 0) << looked.all();
  expect_in(warning, looked.err);
  expect_in("jobs     101\n", looked.out);

  ASSERT_EQ(submit_run("--train.steps 9").exit_code, 0);
  EXPECT_EQ(read_bytes(file("jobs.jsonl")).rfind(whole + whole.substr(0, 20) + "\n{\"id\":\"102\"", 0), 0U);
  const CommandResult again = submit("status " + directory);
  EXPECT_EQ(again.exit_code, 0) << again.all();
  expect_in("jobs     101,102\n", again.out);
}

TEST_F(SubmitRecord, ANameThatNoFileCanHaveIsOneClearError) {
  const std::string name(300, 'n');
  for (const std::string& words :
       {"run.yaml --cluster local --nodes 2 --run.dir " + name, "status " + name, "cancel " + name, "logs " + name}) {
    const CommandResult r = submit(words);
    EXPECT_EQ(r.exit_code, 64) << r.all();
    expect_in("File name too long", r.err);
    expect_not_in("filesystem error", r.err);
  }
}

}  // namespace
}  // namespace octet::test

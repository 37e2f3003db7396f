#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/cluster/shell_text.h"
#include "src/cluster/slurm_job.h"
#include "src/cluster/slurm_version.h"
#include "tests/support/run_command.h"

namespace octet {
namespace {

TEST(SlurmVersion, IsFoundInWhatProgramsPrint) {
  EXPECT_EQ(parse_slurm_version("slurm 22.05.8\n"), (SlurmVersion{22, 5}));
  EXPECT_EQ(parse_slurm_version("slurm-wlm 23.11.4"), (SlurmVersion{23, 11}));
  EXPECT_EQ(parse_slurm_version("24.05"), (SlurmVersion{24, 5}));
  EXPECT_EQ(to_text(SlurmVersion{22, 5}), "22.05");
  for (const char* text : {"", "slurm", "slurm 5.2", "1.22.05", "2205"}) {
    EXPECT_THROW(parse_slurm_version(text), Error) << text;
  }
  EXPECT_THROW(parse_slurm_version("slurm 20.11.9"), Error);
}

TEST(SlurmVersion, KnowsWhatEachReleaseHas) {
  const auto of = [](int year, int month) {
    std::string out;
    for (const auto feature : {SlurmFeature::srun_ignores_cpus_per_task, SlurmFeature::end_time_in_environment,
                               SlurmFeature::block_topology, SlurmFeature::segment}) {
      out += has({year, month}, feature) ? '1' : '0';
    }
    return out;
  };
  EXPECT_EQ(of(22, 5), "1000");
  EXPECT_EQ(of(23, 2), "1100");
  EXPECT_EQ(of(23, 11), "0110");
  EXPECT_EQ(of(24, 5), "0111");
  EXPECT_EQ(of(25, 5), "0111");
}

TEST(SlurmTime, ReadsEveryFormOfSbatch) {
  EXPECT_EQ(parse_slurm_time("90", "t"), 90 * 60);
  EXPECT_EQ(parse_slurm_time("1:30", "t"), 90);
  EXPECT_EQ(parse_slurm_time("08:00:10", "t"), 8 * 3600 + 10);
  EXPECT_EQ(parse_slurm_time("2-12", "t"), 60 * 3600);
  EXPECT_EQ(parse_slurm_time("2-12:30", "t"), 60 * 3600 + 1800);
  EXPECT_EQ(parse_slurm_time("1-00:00:01", "t"), 86401);
  for (const char* text :
       {"", "0", "-", "1-", ":30", "1:", "1:2:3:4", "one", "1d", "00:00:00", "1-2-3", "1e3", "9999999999999"}) {
    EXPECT_THROW(parse_slurm_time(text, "t"), Error) << text;
  }
}

TEST(SlurmJob, IsCalledByItsNumber) {
  for (const char* id : {"1", "123", "123_4", "123+1"}) EXPECT_TRUE(is_job_number(id)) << id;
  for (const char* id : {"", "--me", "_1", "1,2", "12a", "12 "}) EXPECT_FALSE(is_job_number(id)) << id;
}

TEST(ShellText, EveryPrintableCharacterReachesACommandAsItIs) {
  std::string all;
  for (char c = ' '; c < 0x7F; ++c) all += c;
  for (const std::string& word : {all, "-" + all, "\n\t" + all, std::string("$(touch /nowhere)`false`\\")}) {
    const test::CommandResult r = test::run_command("printf %s " + shell_word(word));
    EXPECT_EQ(r.out, word) << r.err;
  }
}

TEST(ShellText, QuotesWhereItMust) {
  EXPECT_EQ(shell_word("/a/b-c_1.yaml"), "/a/b-c_1.yaml");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(sbatch_value("/a/b"), "/a/b");
  EXPECT_EQ(sbatch_value("a&b"), "a&b");
  EXPECT_EQ(sbatch_value("/a b#c"), "\"/a b#c\"");
  EXPECT_THROW(sbatch_value("a\nb"), Error);
  EXPECT_EQ(sbatch_value("/a\"b"), R"("/a\"b")");
  EXPECT_EQ(sbatch_value("a\\b"), R"("a\\b")");
}

}  // namespace
}  // namespace octet

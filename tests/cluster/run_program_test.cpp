#include "src/cluster/machine/run_program.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace octet {
namespace {

TEST(RunProgram, TellsEndsApart) {
  const ProgramResult good = run_program({"sh", "-c", "echo out; echo err >&2"}, 30);
  EXPECT_TRUE(good.succeeded());
  EXPECT_EQ(good.out + good.err, "out\nerr\n");
  EXPECT_EQ(run_program({"sh", "-c", "echo why >&2; exit 3"}, 30).failure("sh"), "sh ended with 3: why");
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}, 30).exit_code, 137);
  EXPECT_EQ(run_program({"octet-no-such-program"}, 30).failure("x"), "x is not there");
  EXPECT_EQ(run_program({"sh", "-c", "head -c 300000 /dev/zero"}, 30).out.size(), 300000U);
}

TEST(RunProgram, GivesItsInput) {
  const std::string text(300000, 'x');
  EXPECT_EQ(run_program({"cat"}, 30, text).out, text);
  EXPECT_EQ(run_program({"wc", "-c"}, 30).out, "0\n");
}

TEST(RunProgram, EndsOneThatDoesNotAnswer) {
  const ProgramResult slow = run_program({"sh", "-c", "echo begun; sleep 1000 & wait"}, 0.2);
  EXPECT_TRUE(slow.timed_out);
  EXPECT_EQ(slow.out, "begun\n");
  EXPECT_EQ(slow.failure("sh"), "sh did not answer in time");
}

/// As a site's own sbatch does that starts a logger.
TEST(RunProgram, WhatAProgramLeavesAtWorkIsNotWaitedFor) {
  const ProgramResult r = run_program({"sh", "-c", "sleep 60 & echo $!"}, 50);
  EXPECT_TRUE(r.succeeded()) << r.failure("sh");
  const pid_t left = std::atoi(r.out.c_str());
  ASSERT_GT(left, 1) << r.out;
  EXPECT_EQ(kill(left, SIGKILL), 0) << "it goes on";
}

}  // namespace
}  // namespace octet

// The words of a command line of whose options some are a program's own and others its run's.
#include "jobs/run/distribute.h"

#include <gtest/gtest.h>

#include "jobs/run/command_line.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_parts.h"

namespace octet {
namespace {

using List = std::vector<std::string>;

class Distribute : public testing::Test {
 protected:
  Distribute() {
    own_.add("nodes", nodes_);
    own_.add("device", device_);
    own_.add_flag("check", checks_);
  }

  WordsByOwner of(List words) {
    words_ = std::move(words);
    words_.insert(words_.begin(), "program");
    return distribute(words_, {.schema = own_, .flags = {"hold"}, .flags_of_run = command_line_flags});
  }
  static List list(const std::vector<const char*>& words) { return {words.begin() + 1, words.end()}; }
  void expect(const List& words, const List& own, const List& run) {
    const WordsByOwner found = of(words);
    EXPECT_STREQ(found.own.at(0), "program");
    EXPECT_STREQ(found.run.at(0), "program");
    EXPECT_EQ(list(found.own), own);
    EXPECT_EQ(list(found.run), run);
  }
  void refuses(const List& words, const std::vector<std::string>& parts) {
    test::expect_parts(test::error_of([&] { of(words); }), parts);
  }

 private:
  std::int64_t nodes_ = 0;
  std::string device_;
  bool checks_ = false;
  Schema own_;
  List words_;
};

TEST_F(Distribute, PartsOptionsWithTheirValues) {
  expect({"run.yaml", "--nodes", "2", "--train.steps=5", "--hold", "--optimizer.lr", "-1"}, {"--nodes", "2", "--hold"},
         {"run.yaml", "--train.steps=5", "--optimizer.lr", "-1"});
  expect({"--check", "run.yaml", "--train.steps=5"}, {"--check"}, {"run.yaml", "--train.steps=5"});
  expect({"--nodes=2", "--train.steps", "5", "run.yaml"}, {"--nodes=2"}, {"--train.steps", "5", "run.yaml"});
}

TEST_F(Distribute, KnowsWhichWordIsTheFile) {
  for (const List& words : {List{"run.yaml", "--train.steps", "5"}, List{"--hold", "--train.steps", "5", "run.yaml"}}) {
    const WordsByOwner found = of(words);
    EXPECT_STREQ(found.run.at(found.file), "run.yaml");
  }
  EXPECT_EQ(of({"--nodes", "2", "--train.steps", "5"}).file, 0u);
}

TEST_F(Distribute, AnOptionOfBothIsTheProgramsOwn) {
  expect({"--device", "cuda"}, {"--device", "cuda"}, {});
}

/// As octet-train reads them.
TEST_F(Distribute, AFormerNameIsTheRuns) {
  expect({"--parallel.reshard_after_forward", "always"}, {}, {"--parallel.reshard_after_forward", "always"});
}

TEST_F(Distribute, FlagsHaveNoValue) {
  expect({"--hold", "run.yaml"}, {"--hold"}, {"run.yaml"});
  expect({"--print-config", "run.yaml", "-h"}, {}, {"--print-config", "run.yaml", "-h"});
  expect({"--help", "train", "--nodes", "2"}, {"--nodes", "2"}, {"--help", "train"});
}

/// parse_arguments tells of it, with the option that came in its place.
TEST_F(Distribute, AnOptionIsNoValueOfTheOneBefore) {
  expect({"--nodes", "--train.steps", "5"}, {"--nodes"}, {"--train.steps", "5"});
}

TEST_F(Distribute, RefusesWhatNeitherHasWithTheNearestOfBoth) {
  refuses({"--ndoes", "2"}, {"command line: unknown option --ndoes", "nearest: --nodes (--help lists all)"});
  refuses({"--train.stpes=5"}, {"unknown option --train.stpes=5; nearest: --train.steps (--help lists all)"});
  refuses({"--hodl"}, {"nearest: --hold"});
  refuses({"-nodes", "2"}, {"unknown option -nodes; nearest: --nodes"});
  refuses({"-x"}, {"unknown option -x (--help lists all)"});
  refuses({"--"}, {"unknown option -- (--help lists all)"});
}

}  // namespace
}  // namespace octet

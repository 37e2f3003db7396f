// octet submit: the first word, where it is neither a run nor the name of a subcommand, and words that have a former
// name.
#include "tests/jobs/submit_fixture.h"

namespace octet::test {
namespace {

TEST_F(Submit, AMistypedSubcommandIsNamed) {
  for (const auto& [word, name] : {std::pair{"statsu", "status"}, {"log", "logs"}, {"cancle", "cancel"}}) {
    const CommandResult r = submit(fmt::format("{} {}", word, directory));
    EXPECT_EQ(r.exit_code, 64) << r.all();
    expect_in(fmt::format("\"{}\": is no file, no run and no subcommand; nearest: {};", word, name), r.err);
  }
  expect_not_in("no subcommand", submit("missing.yaml --cluster local --nodes 1").err);
}

TEST_F(Submit, ARunMayHaveANameLikeASubcommand) {
  std::filesystem::copy(workplace() / "run.yaml", workplace() / "statu");
  const CommandResult r = submit("statu --cluster local --nodes 2 --dry-run --run.dir " + directory);
  std::filesystem::remove(workplace() / "statu");
  EXPECT_EQ(r.exit_code, 0) << r.all();
}

TEST_F(Submit, AnOptionMayHaveItsFormerName) {
  const CommandResult r = submit_run("--parallel.reshard_after_forward always --dry-run");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  expect_in("parallel.reshard_after_forward = always is the old name of parallel.zero = 3", r.err);
  expect_in("\n  zero: 3\n", r.out);
}

TEST_F(Submit, TheWordHelpIsTheOption) {
  const CommandResult help = submit("help");
  EXPECT_EQ(help.exit_code, 0) << help.all();
  EXPECT_EQ(help.out, submit("--help").out);
  for (const char* line : {"\n  -h, --help ", "\nExit codes: 0; 64 "}) expect_in(line, help.out);
  expect_in("usage: octet submit logs RUN_DIR", submit("help logs").out);
}

}  // namespace
}  // namespace octet::test

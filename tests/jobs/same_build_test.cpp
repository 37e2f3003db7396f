// Ranks of two builds: the second program is a copy of the first in which the commit reads otherwise.
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

/// As --version has it.
std::string commit_of(const std::string& program) {
  const std::string text = run_command(program + " --version").out, key = "commit     ";
  const std::size_t begin = text.find(key) + key.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// The copy, with as many letters z in place of the commit.
std::string of_another_commit(const std::string& program, const std::string& commit) {
  std::string bytes = read_bytes(program);
  for (std::size_t at = 0; (at = bytes.find(commit, at)) != std::string::npos;) {
    bytes.replace(at, commit.size(), std::string(commit.size(), 'z'));
  }
  const std::string copy = workplace() / ("another-" + fs::path(program).filename().string());
  write_bytes(copy, bytes);
  fs::permissions(copy, fs::perms::owner_all);
  return copy;
}

TEST(SameBuild, ProgramsOfTwoCommitsRefuseToStartTogether) {
  for (const auto& [name, arguments] :
       {std::pair("octet-train", "run.yaml"), std::pair("octet-train", "--no.such-option 1"),
        std::pair("octet-evaluate", "none --data data/text"), std::pair("octet-commbench", "--min 8 --max 8")}) {
    const std::string program = OCTET_BIN_DIR "/" + std::string(name), commit = commit_of(program);
    if (commit == "unknown") GTEST_SKIP() << "built without git";
    const std::string other = of_another_commit(program, commit);
    ASSERT_EQ(commit_of(other), std::string(commit.size(), 'z'));
    const CommandResult r = in_workplace(fmt::format("mpiexec -n 2 {0} {2} : -n 1 {1} {2}", program, other, arguments));
    EXPECT_EQ(r.exit_code, 64) << r.all();
    EXPECT_HAS(r.err, "[ranks] the ranks are not of one build");
    EXPECT_HAS(r.err, "2 rank(s) (0-1): octet ");
    EXPECT_HAS(r.err, fmt::format("commit {}; node(s)", commit));
    EXPECT_HAS(r.err, fmt::format("commit {}; expected the same", std::string(commit.size(), 'z')));
    EXPECT_EQ(occurrences(r.err, "not of one build"), 2) << "once, and its heading: " << r.err;
  }
}

}  // namespace
}  // namespace octet::test

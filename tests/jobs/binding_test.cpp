// Which CPUs ranks keep to: bindings.txt, and what leaves them where they are. In a Slurm job:
// tests/slurm/scenarios.py.
#include <sched.h>

#include "tests/jobs/job.h"

namespace octet::test {
namespace {

/// bindings.txt of a run of two ranks for which these variables are set.
std::string bindings(const std::string& variables, const std::string& arguments) {
  const std::string directory = new_run_directory();
  const CommandResult result = in_workplace(
      fmt::format("env -u SLURM_JOB_ID {} {}", variables,
                  launched(2, fmt::format("run.yaml --run.dir {} --train.steps 1 {}", directory, arguments))));
  EXPECT_EQ(result.exit_code, 0) << result.all();
  std::string text = read_bytes(workplace() / (directory + "/bindings.txt"));
  EXPECT_HAS(result.err, "cores: " + text.substr(0, text.find('\n')));
  return text;
}

/// What each of the two lines says behind the rank and its node.
std::vector<std::string> said(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_HAS(line, fmt::format("rank {} on ", out.size()));
    out.push_back(line.substr(line.find(": CPUs ") + 2));
  }
  EXPECT_EQ(out.size(), 2U) << text;
  out.resize(2);
  return out;
}

int cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

TEST(Binding, RanksOfASlurmJobDivideTheCpus) {
  const auto lines = said(bindings("SLURM_JOB_ID=1 OMP_PROC_BIND=false", ""));  // OpenMP places nothing then
  if (cpus() == 1) {
    EXPECT_HAS(lines[0], "2 ranks share them");
  } else {
    EXPECT_NE(lines[0], lines[1]);
    for (const std::string& line : lines) EXPECT_EQ(line.find("not bound"), std::string::npos) << line;
  }
}

TEST(Binding, IsLeftToOthersByOptionByOpenMpAndOutsideOfAJob) {
  const std::pair<std::string, std::string> why[] = {
      {bindings("SLURM_JOB_ID=1", "--cpu.bind off"), ", not bound: cpu.bind = off"},
      {bindings("SLURM_JOB_ID=1 OMP_PROC_BIND=close", ""), ", not bound: OMP_PROC_BIND is set"},
      {bindings("SLURM_JOB_ID=1 HWLOC_SYNTHETIC='pack:1 core:8 pu:1'", ""),
       ", not bound: hwloc is told of another machine (HWLOC_XMLFILE, HWLOC_SYNTHETIC, HWLOC_THISSYSTEM)"},
      {bindings("", ""), ", not bound: the machine is not a job's alone"},
  };
  for (const auto& [text, reason] : why) {
    const auto lines = said(text);
    EXPECT_EQ(lines[0], lines[1]);
    EXPECT_TRUE(lines[0].ends_with(reason)) << lines[0];
  }
}

}  // namespace
}  // namespace octet::test

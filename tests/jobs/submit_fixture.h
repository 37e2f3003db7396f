#pragma once

#include <sys/stat.h>

#include <sstream>

#include "tests/jobs/job.h"

/// octet submit against programs that stand in for Slurm's: they note how they were called and answer from files.
namespace octet::test {

inline constexpr const char* fake_sbatch =
    "#!/bin/bash\n"
    "echo \"sbatch $*\" >>\"$FAKE/calls\"\n"
    "env >\"$FAKE/environment\"\n"
    "case $1 in\n"
    "  --version) echo \"slurm ${FAKE_VERSION:-22.05.8}\" ;;\n"
    "  --test-only)\n"
    "    cat >\"$FAKE/tested.sh\"\n"
    "    [[ -z ${FAKE_REFUSE:-} ]] || { echo \"sbatch: error: invalid partition specified: main\" >&2 && exit 1; }\n"
    "    [[ -z ${FAKE_DRAINED:-} ]] || { echo 'allocation failure: Requested node configuration is not available' >&2 "
    "&& exit 1; }\n"
    "    echo 'sbatch: Job 7 to start at 2026-05-01T12:00:00 using 4 processors' >&2 ;;\n"
    "  *)\n"
    "    id=$(($(cat \"$FAKE/last\" 2>/dev/null || echo 100) + 1))\n"
    "    ((id <= ${FAKE_MOST:-1000})) || { echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2 && exit 1; }\n"
    "    echo $id | tee \"$FAKE/last\"\n"
    "    cp \"${@: -1}\" \"$FAKE/job-$id.sh\" ;;\n"
    "esac\n";
inline constexpr const char* fake_squeue =
    "#!/bin/bash\n"
    "echo \"squeue $*\" >>\"$FAKE/calls\"\n"
    "[[ ! -e $FAKE/queue ]] || cat \"$FAKE/queue\"\n";
inline constexpr const char* fake_sacct =
    "#!/bin/bash\n"
    "echo \"sacct $*\" >>\"$FAKE/calls\"\n"
    "[[ -e $FAKE/accounts ]] || { echo 'Slurm accounting storage is disabled' >&2 && exit 1; }\n"
    "cat \"$FAKE/accounts\"\n";
inline constexpr const char* fake_scancel = "#!/bin/bash\necho \"scancel $*\" >>\"$FAKE/calls\"\n";

/// A cluster of its own for each test.
class Submit : public testing::Test {
 protected:
  void SetUp() override {
    program("sbatch", fake_sbatch);
    program("squeue", fake_squeue);
    program("sacct", fake_sacct);
    program("scancel", fake_scancel);
  }

  void program(const std::string& name, const std::string& text) {
    write_bytes(fake / ("bin/" + name), text);
    chmod((fake / ("bin/" + name)).c_str(), 0755);
  }
  std::string read(const std::string& name) const {
    return std::filesystem::exists(fake / name) ? read_bytes(fake / name) : "";
  }
  /// `octet submit` in the workplace.
  CommandResult submit(const std::string& arguments, const std::string& environment = "") const {
    return run_command(
        fmt::format("cd {} && export FAKE={} PATH={}/bin:/usr/bin:/bin OMP_NUM_THREADS=1 {} && exec {}/octet submit {}",
                    workplace().path(), fake.path(), fake.path(), environment, OCTET_BIN_DIR, arguments));
  }
  /// Of the tiny run on two nodes, in a directory of the test's own.
  CommandResult submit_run(const std::string& more = "", const std::string& environment = "") const {
    return submit(fmt::format("run.yaml --cluster local --nodes 2 --run.dir {} {}", directory, more), environment);
  }
  /// What a job has for --job-name.
  std::string name_of(const std::string& job) const {
    const std::string script = read("job-" + job + ".sh"), head = "#SBATCH --job-name=";
    const std::size_t from = script.find(head) + head.size();
    return script.substr(from, script.find('\n', from) - from);
  }
  /// The jobs that `octet job rest` names.
  std::string rest_of(const std::string& job, const std::string& after, int steps, const std::string& waiting) const {
    const CommandResult r =
        run_command(fmt::format("{}/octet job rest --run-dir {} --job {} --after {} --steps {} --waiting '{}'",
                                OCTET_BIN_DIR, file(""), job, after, steps, waiting));
    EXPECT_EQ(r.exit_code, 0) << r.all();
    std::string out = r.out;
    std::ranges::replace(out, '\n', ' ');
    return out;
  }
  std::string file(const std::string& name) const { return workplace() / (directory + "/" + name); }
  bool has(const std::string& name) const { return std::filesystem::exists(file(name)); }

  TempFolder fake;
  std::string directory = new_run_directory();
};

inline void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << "no " << part << " in:\n" << text;
}
inline void expect_not_in(const std::string& part, const std::string& text) {
  EXPECT_EQ(text.find(part), std::string::npos) << part << " in:\n" << text;
}

inline std::int64_t lines_with(const std::string& part, const std::string& text) {
  std::istringstream in(text);
  std::int64_t count = 0;
  for (std::string line; std::getline(in, line);) count += line.find(part) != std::string::npos ? 1 : 0;
  return count;
}

/// The content of a file in what a dry run prints.
inline std::string printed_file(const std::string& out, const std::string& name) {
  const std::string head = "/" + name + " <==\n";
  const std::size_t at = out.find(head);
  if (at == std::string::npos) return "";
  return out.substr(at + head.size(), out.find("\n==> ", at) - at - head.size());
}

}  // namespace octet::test

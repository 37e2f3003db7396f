#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

#include "src/metrics/status.h"
#include "tests/jobs/job.h"

namespace octet::test {

/// For tests of `octet job`: a run directory, and a look at nodes that all found healthy.
class JobCommand : public testing::Test {
 protected:
  JobCommand() {
    std::filesystem::create_directories(workplace() / (run_ + "/job/preflight"));
    for (const char* node : {"n1", "n2", "n3"}) {
      write_bytes(workplace() / (run_ + "/job/preflight/" + node + ".code"), "0\n");
    }
  }
  std::string before() { return ask("before --nodes 2 --hosts n[1-3] --preflight " + run_ + "/job/preflight"); }
  /// Ended like this, in the words of the rank that could write.
  std::string after(const std::string& failure) {
    write_bytes(workplace() / (run_ + "/job/failure-7.txt"), failure + "\n");
    return ask("after --launcher-code 76");
  }

  const std::string run_ = new_run_directory();
  /// Ended by a signal, where the disk was too full for a rank's words; this is what stood in the log.
  std::string after_silence(const std::string& log) {
    write_bytes(workplace() / (run_ + "/srun.log"), log);
    return ask("after --launcher-code 137 --said " + run_ + "/srun.log");
  }

  int launches() const {
    const std::string path = workplace() / (run_ + "/job/launches.jsonl");
    const std::string text = std::filesystem::exists(path) ? read_bytes(path) : "";
    return static_cast<int>(std::ranges::count(text, '\n'));
  }
  /// What the job's script noted when it was told to end.
  void told_to_end(const std::string& shown) const {
    std::filesystem::create_directories(workplace() / (run_ + "/job/7"));
    write_bytes(workplace() / (run_ + "/job/7/told-to-end"), "2026-11-28T18:03:22Z 0\nJobId=7\n   " + shown + "\n");
  }
  /// Its script and its ranks are killed before one of them can say why.
  void kill_all() const { write_status(workplace() / (run_ + "/status.json"), {.state = "running", .reason = ""}); }
  /// A launch has left a checkpoint.
  void save(const std::string& step) const {
    write_status(workplace() / (run_ + "/status.json"),
                 {.state = "failed", .reason = "lost", .exit_code = 71, .checkpoint = "checkpoints/" + step});
  }
  std::string ask(const std::string& words, const std::string& slurm_job = "none", int job = 7) const {
    const CommandResult result = in_workplace(fmt::format("{}/octet job {} --run-dir {} --job {} --slurm-job {}",
                                                          OCTET_BIN_DIR, words, run_, job, slurm_job));
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return result.out;
  }
};

}  // namespace octet::test

#pragma once

#include <csignal>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "tests/jobs/job.h"

namespace octet::test {

/// A run that would go on for very long.
class EndlessRun {
 public:
  /// Returns when it has done three steps.
  explicit EndlessRun(const std::string& arguments = "", int ranks = 2) : run_{{}, new_run_directory()} {
    const std::string all = fmt::format("run.yaml --train.steps 1000000 --run.dir {} {}", run_.directory, arguments);
    job_ = std::async(std::launch::async, [command = launched(ranks, all)] { return in_workplace(command, 60); });
    wait_until(
        [&] { return run_.has("metrics.jsonl") && occurrences(read_bytes(run_.file("metrics.jsonl")), "\n") >= 3; });
  }
  EndlessRun(const EndlessRun&) = delete;
  ~EndlessRun() {
    for (const pid_t rank : processes()) ::kill(rank, SIGKILL);  // those of a test that failed
  }

  /// Process of a rank, or of all: those of octet-train that have this run's directory among their arguments.
  std::vector<pid_t> processes(const std::string& rank = "") const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
      if (!is_ours(entry.path())) continue;
      if (rank.empty() || has_entry(entry.path() / "environ", "PMI_RANK=" + rank)) found.push_back(std::stoi(name));
    }
    return found;
  }

  const TrainedRun& run() const { return run_; }

  /// Waits up to half a minute.
  static void wait_until(const std::function<bool()>& is_so) {
    for (int i = 0; i < 3000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  /// Waits for the end of the job.
  const TrainedRun& end() {
    run_.result = job_.get();
    EXPECT_FALSE(run_.result.timed_out);
    return run_;
  }
  /// Ends all ranks as a power cut would.
  const TrainedRun& end_by_kill() {
    for (const pid_t rank : processes()) ::kill(rank, SIGKILL);
    return end();
  }
  /// Sends the signal to that rank and waits for the end of the job.
  const TrainedRun& end_by(int signal, const std::string& rank) {
    const auto target = processes(rank);
    EXPECT_EQ(target.size(), 1u);
    if (target.size() == 1) ::kill(target[0], signal);
    return end();
  }

 private:
  /// Whether a file of /proc that ends its entries with 0 has this one.
  static bool has_entry(const std::filesystem::path& path, const std::string& wanted) {
    std::ifstream file(path);
    for (std::string entry; std::getline(file, entry, '\0');) {
      if (entry == wanted) return true;
    }
    return false;
  }
  bool is_ours(const std::filesystem::path& process) const {
    std::error_code error;
    return std::filesystem::read_symlink(process / "cwd", error) == std::filesystem::canonical(workplace().path()) &&
           std::filesystem::read_symlink(process / "exe", error).filename() == "octet-train" &&
           has_entry(process / "cmdline", run_.directory);
  }

  TrainedRun run_;
  std::future<CommandResult> job_;
};

}  // namespace octet::test

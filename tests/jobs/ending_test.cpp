// How runs end before their last step: signals, dead ranks, numbers that are not finite, a rank that fails.
#include <csignal>
#include <fstream>
#include <future>
#include <thread>

#include "src/data/sampler.h"
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

/// A run of two ranks that would go on for very long.
class EndlessRun {
 public:
  explicit EndlessRun(const std::string& arguments = "") : run_{{}, new_run_directory()} {
    const std::string all = fmt::format("run.yaml --train.steps 1000000 --run.dir {} {}", run_.directory, arguments);
    job_ = std::async(std::launch::async, [command = launched(2, all)] { return in_workplace(command, 60); });
    for (int i = 0;
         i < 3000 && !(run_.has("metrics.jsonl") && occurrences(read_bytes(run_.file("metrics.jsonl")), "\n") >= 3);
         ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  ~EndlessRun() {
    for (const pid_t rank : processes()) ::kill(rank, SIGKILL);  // those of a test that failed
  }

  /// Process of a rank, or of all: those of octet-train that have this run's directory among their arguments.
  std::vector<pid_t> processes(const std::string& rank = "") const {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
      if (!is_ours(entry.path())) continue;
      if (rank.empty() || has_entry(entry.path() / "environ", "PMI_RANK=" + rank)) found.push_back(std::stoi(name));
    }
    return found;
  }

  /// Sends the signal to that rank and waits for the end of the job.
  const TrainedRun& end_by(int signal, const std::string& rank) {
    const auto target = processes(rank);
    EXPECT_EQ(target.size(), 1u);
    if (target.size() == 1) ::kill(target[0], signal);
    run_.result = job_.get();
    EXPECT_FALSE(run_.result.timed_out);
    return run_;
  }

 private:
  /// Whether a file of /proc that ends its entries with 0 has this one.
  static bool has_entry(const fs::path& path, const std::string& wanted) {
    std::ifstream file(path);
    for (std::string entry; std::getline(file, entry, '\0');) {
      if (entry == wanted) return true;
    }
    return false;
  }
  bool is_ours(const fs::path& process) const {
    std::error_code error;
    return fs::read_symlink(process / "cwd", error) == fs::canonical(workplace().path()) &&
           fs::read_symlink(process / "exe", error).filename() == "octet-train" &&
           has_entry(process / "cmdline", run_.directory);
  }

  TrainedRun run_;
  std::future<CommandResult> job_;
};

/// Every step from 1 on has its line, and the last one is the status's.
void expect_whole_until(const TrainedRun& run, std::int64_t last) {
  std::int64_t step = 0;
  for (const auto& line : run.metrics()) EXPECT_EQ(line["step"], ++step);
  EXPECT_EQ(step, last);
}

/// Nobody ended this run properly: the lines are those of steps 1, 2, ... all the same, and none is cut off.
void expect_whole_lines(const TrainedRun& run) {
  const std::string text = read_bytes(run.file("metrics.jsonl"));
  EXPECT_TRUE(text.ends_with("}\n")) << text.substr(text.rfind('{'));
  std::istringstream lines(text);
  std::int64_t step = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::ordered_json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    EXPECT_EQ(json.value("step", 0), ++step);
  }
  EXPECT_GE(step, 3);
}

void expect_stopped(const TrainedRun& run, int code, const std::string& signal) {
  EXPECT_EQ(run.result.exit_code, code) << run.result.err;
  const auto status = run.status();
  EXPECT_EQ(status["state"], "stopped");
  EXPECT_EQ(status["reason"], signal);
  EXPECT_EQ(status["exit_code"], code);
  EXPECT_GE(status["step"], 3);
  EXPECT_EQ(status["steps"], 1000000);
  expect_whole_until(run, status["step"]);
  EXPECT_HAS(run.result.err, fmt::format("stopped after step {}: {}", status["step"].get<int>(), signal));
}

TEST(Stopping, SigtermToOneRankEndsAllAtAStep) {
  EndlessRun run;
  expect_stopped(run.end_by(SIGTERM, "1"), 143, "SIGTERM");
  EXPECT_TRUE(run.processes().empty());
}

TEST(Stopping, SigintToOneRankEndsAllAtAStep) {
  EndlessRun run;
  expect_stopped(run.end_by(SIGINT, "0"), 130, "SIGINT");
}

TEST(Stopping, AKilledRankEndsTheJob) {
  for (const char* rank : {"0", "1"}) {
    EndlessRun run;
    const TrainedRun& ended = run.end_by(SIGKILL, rank);
    EXPECT_NE(ended.result.exit_code, 0);
    EXPECT_TRUE(run.processes().empty());
    // Only rank 0 writes that a peer is lost: killed itself, or ended by the launcher first, it cannot.
    const std::string state = ended.status()["state"];
    EXPECT_TRUE(state == "running" || (state == "failed" && *rank != '0')) << state;
    expect_whole_lines(ended);
  }
}

TEST(TimeLimits, ARankThatHangsInAStepIsNamedByItsPeerWithThePhase) {
  EndlessRun run("--comm.timeout_seconds 2");
  const TrainedRun& ended = run.end_by(SIGSTOP, "1");
  EXPECT_EQ(ended.result.exit_code, 71) << ended.result.err;
  EXPECT_HAS(ended.result.err, "has not completed within 2 s in phase step (comm.timeout_seconds)");
  const auto status = ended.status();
  EXPECT_EQ(status["exit_code"], 71);
  EXPECT_HAS(status["reason"].get<std::string>(), "in phase step");
}

TEST(TimeLimits, TheStartHasItsOwn) {
  const TrainedRun run = train(2, "--comm.start_timeout_seconds 1e-9");
  EXPECT_EQ(run.result.exit_code, 71) << run.result.err;
  EXPECT_HAS(run.result.err, "in phase start (comm.start_timeout_seconds)");
}

TEST(NonFinite, EndsTheRunNamingStepUnitAndTensor) {
  for (const char* precision : {"fp32", "bf16", "float8"}) {
    SCOPED_TRACE(precision);
    const TrainedRun run = train(2, fmt::format("--optimizer.lr 1e30 --precision {}", precision));
    EXPECT_FALSE(run.result.timed_out);
    EXPECT_EQ(run.result.exit_code, 77) << run.result.all();
    const auto status = run.status();
    EXPECT_EQ(status["state"], "failed");
    EXPECT_EQ(status["exit_code"], 77);
    const std::int64_t bad = status["step"].get<std::int64_t>() + 1;
    EXPECT_LE(bad, 3);
    EXPECT_HAS(status["reason"].get<std::string>(), fmt::format("step {} is not finite", bad));
    EXPECT_TRUE(std::ranges::all_of(std::vector<std::string>{"block.0", "gradient of layers.0.attention.wq.weight"},
                                    [&](const auto& part) {
                                      std::istringstream lines(run.result.err);
                                      for (std::string line; std::getline(lines, line);) {
                                        if (line.find(fmt::format("step {}: ", bad)) != std::string::npos &&
                                            line.find(part) != std::string::npos)
                                          return true;
                                      }
                                      return false;
                                    }))
        << run.result.err;
    expect_whole_until(run, bad);
    EXPECT_GT(run.metrics().back()["non_finite"], 0);
    EXPECT_EQ(run.metrics().front()["non_finite"], 0);
  }
}

/// data/bad: the text with an id of 255 in the first window that rank `rank` of 2 reads in step `step`.
void write_bad_token(int rank, std::int64_t step) {
  const Sampler sampler({{workplace() / "data/text", 1.0}},
                        {.seq_len = 32, .global_batch = 12, .vocab_size = 256, .seed = 1, .validation_fraction = 0.05});
  const Sample sample = sampler.order().train((step - 1) * 12 + rank * 6);
  std::string tokens = read_bytes(workplace() / "data/text.bin");
  tokens[static_cast<std::size_t>(sample.window * 32 + 5)] = '\xff';
  write_bytes(workplace() / "data/bad.bin", tokens);
  write_bytes(workplace() / "data/bad.idx", read_bytes(workplace() / "data/text.idx"));
}

TEST(AFailingRank, EndsTheJobWithItsMessageInLogAndStatus) {
  std::string model = tiny_model;
  write_bytes(workplace() / "small.yaml", model.replace(model.find("256"), 3, "255"));
  for (const int rank : {0, 1}) {
    SCOPED_TRACE(rank);
    write_bad_token(rank, 3);
    const TrainedRun run = train(2, "--model ./small.yaml --data.train data/bad --data.validation_fraction 0.05");
    EXPECT_FALSE(run.result.timed_out);
    EXPECT_EQ(run.result.exit_code, 64) << run.result.all();
    EXPECT_EQ(occurrences(run.result.err, "data/bad.bin: token id 255 at position"), 1) << run.result.err;
    EXPECT_EQ(occurrences(run.result.err, "[rank 1 "), rank) << run.result.err;
    const auto status = run.status();
    EXPECT_EQ(status["state"], "failed");
    EXPECT_EQ(status["exit_code"], 64);
    EXPECT_EQ(status["step"], 2);
    EXPECT_HAS(status["reason"].get<std::string>(), fmt::format("rank {} of 2", rank));
    EXPECT_HAS(status["reason"].get<std::string>(), "token id 255");
    expect_whole_until(run, 2);
  }
}

}  // namespace
}  // namespace octet::test

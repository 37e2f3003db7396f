// How runs end before their last step: signals, dead ranks, numbers that are not finite, a rank that fails.
#include "src/data/data_facts.h"
#include "src/data/sampler.h"
#include "tests/jobs/endless_run.h"

namespace octet::test {
namespace {

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

TEST(Stopping, SigtermToOneStageEndsAllOfAPipelineAtAStep) {
  for (const char* stage : {"0", "1"}) {
    EndlessRun run("--parallel.pp 2 --train.micro_batch 6");
    const TrainedRun& ended = run.end_by(SIGTERM, stage);
    expect_stopped(ended, 143, "SIGTERM");
    // The figures of steps are of rank 0's memory.
    EXPECT_HAS(ended.result.err, "memory plan of the pipeline's ranks:\n");
    EXPECT_HAS(ended.result.err, "  the most\n");
    EXPECT_TRUE(run.processes().empty());
  }
}

TEST(Stopping, ARankThatCrashesIsGone) {
  EndlessRun run("", 1);
  const TrainedRun& ended = run.end_by(SIGSEGV, "0");
  EXPECT_EQ(ended.result.exit_code, SIGSEGV) << "as mpiexec has it: " << ended.result.err;
  EXPECT_EQ(ended.result.err.find("Caught signal"), std::string::npos) << "UCX's handler: " << ended.result.err;
  EXPECT_TRUE(run.processes().empty());
}

TEST(Stopping, AKilledRankEndsTheJob) {
  for (const char* rank : {"0", "1"}) {
    EndlessRun run;
    const TrainedRun& ended = run.end_by(SIGKILL, rank);
    EXPECT_NE(ended.result.exit_code, 0);
    EXPECT_TRUE(run.processes().empty());
    // The other one writes that its peer is lost, unless the launcher ends it first.
    const std::string state = ended.status()["state"];
    EXPECT_EQ(state, ended.has("failure.txt") ? "failed" : "running");
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
  for (const char* arguments :
       {"--precision fp32", "--precision bf16", "--precision float8", "--precision bf16 --train.late_results true"}) {
    SCOPED_TRACE(arguments);
    const TrainedRun run = train(2, fmt::format("--optimizer.lr 1e30 {}", arguments));
    EXPECT_FALSE(run.result.timed_out);
    EXPECT_EQ(run.result.exit_code, 77) << run.result.all();
    const auto status = run.status();
    EXPECT_EQ(status["state"], "failed");
    EXPECT_EQ(status["exit_code"], 77);
    const std::int64_t bad = status["step"].get<std::int64_t>() + 1;
    EXPECT_LE(bad, 3);
    EXPECT_HAS(status["reason"].get<std::string>(), fmt::format("step {} is not finite", bad));
    EXPECT_HAS(status["reason"].get<std::string>(), "\"): ");  // behind the page's heading, what is not finite
    EXPECT_HAS(status["reason"].get<std::string>(), " in block.");
    EXPECT_HAS(read_bytes(run.file("failure.txt")),
               fmt::format("rank 0 exit code 77: the gradient norm of step {}", bad));
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

/// data/bad: the text with an id of 255 in the first window that rank `rank` of 2 reads in step `step`. The side file
/// says that there is none, as one does whose data changed after it was written.
void write_bad_token(int rank, std::int64_t step) {
  const Sampler sampler({{workplace() / "data/text", 1.0}},
                        {.seq_len = 32, .global_batch = 12, .vocab_size = 256, .seed = 1, .validation_fraction = 0.05});
  const Sample sample = sampler.order().train_sample((step - 1) * 12 + rank * 6);
  std::string tokens = read_bytes(workplace() / "data/text.bin");
  tokens[static_cast<std::size_t>(sample.window * 32 + 5)] = '\xff';
  write_bytes(workplace() / "data/bad.bin", tokens);
  write_bytes(workplace() / "data/bad.idx", read_bytes(workplace() / "data/text.idx"));
  ASSERT_TRUE(write_data_facts(workplace() / "data/bad.data.json", TokenFile(workplace() / "data/bad"),
                               {.range = {.smallest = {0, 0}, .largest = {254, 0}}}));
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
    const std::string reason = read_bytes(run.file("failure.txt"));
    EXPECT_EQ(occurrences(reason, "\n"), 1) << reason;
    EXPECT_HAS(reason, fmt::format(" rank {} exit code 64: [data] data/bad.bin: token id 255", rank));
    expect_whole_until(run, 2);
  }
}

}  // namespace
}  // namespace octet::test

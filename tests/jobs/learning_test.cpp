// A run learns, and leaves the files that its owner and scripts rely on.
#include <regex>

#include "tests/jobs/job.h"

namespace octet::test {
namespace {

const std::string longer = "--train.steps 90 --train.validate_every 25 --optimizer.lr 1e-2 --precision ";

class Learning : public testing::TestWithParam<const char*> {
 protected:
  const TrainedRun& run_ = finished(2, longer + GetParam());
};

TEST_P(Learning, GetsFarBelowTheEntropyOfLetters) {
  // The text has 2.8 nats a byte by the frequencies of bytes alone; an untrained model has log(256) = 5.5.
  const auto losses = run_.losses();
  EXPECT_EQ(losses.size(), 90u);
  EXPECT_GT(losses.front(), 5.0);
  EXPECT_LT(losses.back(), 2.2);
  const double validation = run_.losses("validation_loss").back();
  EXPECT_LT(validation, 2.2);
  EXPECT_NEAR(validation, losses.back(), 0.3) << "the same kind of text";
}

TEST_P(Learning, ValidatesAsOftenAsAskedAndAtTheEnd) {
  std::vector<std::int64_t> steps;
  for (const auto& line : run_.metrics()) {
    if (line.contains("validation_loss")) steps.push_back(line["step"]);
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{25, 50, 75, 90}));
  EXPECT_EQ(occurrences(run_.result.out, "validation_loss"), 4);
}

INSTANTIATE_TEST_SUITE_P(Precisions, Learning, testing::Values("bf16", "float8"),
                         [](const auto& c) { return c.param; });

/// One run's loss differs by up to 3 % between two orders of summation alone, so that the mean of several is compared.
/// In a model as small as this float8 ends 1.2 % higher (the mean of 16 seeds; the mean of 4 varies by 0.6 %).
TEST(RunFiles, Bf16AndFloat8EndAtTheSamePlace) {
  double bf16 = 0, float8 = 0;
  for (const char* seed : {"", " --run.seed 2", " --run.seed 3", " --run.seed 4"}) {
    bf16 += finished(2, longer + "bf16" + seed).losses("validation_loss").back();
    float8 += finished(2, longer + "float8" + seed).losses("validation_loss").back();
  }
  EXPECT_LT(std::abs(float8 - bf16) / bf16, 0.04);
}

/// jobs/gpu/bench/bench_train.py reads this line (STARTED).
TEST(RunFiles, TheLogSaysWhatTheStartTakes) {
  const std::string& log = finished(2, longer + "bf16").result.err;
  const std::regex line("[^\n] buffers taken and weights made in [0-9]+\\.[0-9][0-9] s\n");
  EXPECT_EQ(std::distance(std::sregex_iterator(log.begin(), log.end(), line), std::sregex_iterator()), 1) << log;
}

/// A full disk of the log, and a reader that has gone.
TEST(RunFiles, LinesThatNobodyTakesEndNoRun) {
  for (const auto& [into, why] : {std::pair{">/dev/full", "No space left on device"}, {"| true", "Broken pipe"}}) {
    const std::string directory = new_run_directory();
    const std::string run = fmt::format("{} run.yaml --run.dir {} --train.steps 5", octet_train, directory);
    const CommandResult result = in_workplace(fmt::format("sh -c '{}; echo ended with $? >&2' {}", run, into));
    EXPECT_HAS(result.err, "ended with 0");
    EXPECT_EQ(occurrences(result.err, std::string("standard output does not take what is printed: ") + why), 1)
        << result.err;
    EXPECT_EQ(TrainedRun({result, directory}).metrics().size(), 5u);
  }
}

TEST(RunFiles, MetricsHaveTheAgreedKeys) {
  const TrainedRun& run = finished(2, longer + "bf16");
  const std::vector<std::string> agreed = {"step",
                                           "loss",
                                           "validation_loss",
                                           "validation_bits_per_byte",
                                           "grad_norm",
                                           "lr",
                                           "tokens",
                                           "passes",
                                           "tokens_per_second",
                                           "tokens_per_second_per_rank",
                                           "tflops",
                                           "mfu",
                                           "memory_bytes",
                                           "interval_steps",
                                           "step_seconds",
                                           "data_seconds",
                                           "validation_seconds",
                                           "checkpoint_stall_seconds",
                                           "wait_seconds",
                                           "non_finite",
                                           "restarts",
                                           "time"};
  std::int64_t step = 0;
  for (const auto& line : run.metrics()) {
    ++step;
    std::vector<std::string> expected = agreed, found;
    if (!line.contains("validation_loss")) {
      std::erase(expected, "validation_loss");
      std::erase(expected, "validation_bits_per_byte");
    }
    for (const auto& [key, value] : line.items()) found.push_back(key);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(line["step"], step);
    EXPECT_EQ(line["tokens"], step * 12 * 32);
    EXPECT_EQ(line["lr"], 1e-2);
    EXPECT_EQ(line["non_finite"], 0);
    EXPECT_GT(line["memory_bytes"], 0);
    EXPECT_GT(line["step_seconds"], 0.0);
    EXPECT_GT(line["data_seconds"], 0.0);
    EXPECT_EQ(line["validation_seconds"] > 0.0, line.contains("validation_loss"));
    EXPECT_EQ(line["checkpoint_stall_seconds"], 0.0);
    EXPECT_GT(line["wait_seconds"], 0.0);
    EXPECT_TRUE(line["mfu"].is_null()) << line["mfu"];
    const double per_rank = line["tokens_per_second_per_rank"];
    EXPECT_NEAR(line["tokens_per_second"].get<double>(), 2 * per_rank, 1e-6 * per_rank);
  }
}

/// Documents of one token each.
std::string lone_tokens() {
  TokenFileWriter writer(workplace() / "data/lone", TokenType::u8, {.overwrite = true});
  for (std::int32_t i = 0; i < 2000; ++i) {
    writer.append(std::vector<std::int32_t>{i % 90});
    writer.end_document();
  }
  writer.finish();
  return "--data.train data/lone --data.document_mask true --train.steps 3 ";
}

/// Of the tiny model: 6 P + 12 layers q_dim keys a token, where keys are 1 and not 32.
TEST(RunFiles, FlopsAreThoseThatDocumentsAskFor) {
  const TrainedRun run = train(1, lone_tokens());
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  constexpr double block = 2 * 32 * 64 + 2 * 32 * 32 + 3 * 32 * 64 + 2 * 32;
  constexpr double parameters = 2 * block + 32 + 256 * 32, attention = 12 * 2 * 64;
  for (const auto& line : run.metrics()) {
    EXPECT_NEAR(line["tflops"].get<double>() / line["tflops_unmasked"].get<double>(),
                (6 * parameters + attention) / (6 * parameters + attention * 32), 1e-9);
    const double tokens = line["tokens_per_second_per_rank"];
    EXPECT_NEAR(line["tflops"].get<double>(), tokens * (6 * parameters + attention) / 1e12,
                1e-9 * line["tflops"].get<double>());
  }
  EXPECT_EQ(occurrences(run.result.err, "no token counts towards the loss"), 0) << run.result.err;
}

TEST(RunFiles, AStepWithoutATargetIsWarnedOfOnce) {
  const TrainedRun run = train(2, lone_tokens() + "--data.loss_on_first false");
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_EQ(run.losses(), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(occurrences(run.result.err, "step 1: no token counts towards the loss"), 1) << run.result.err;
  EXPECT_EQ(occurrences(run.result.err, "no token counts towards the loss"), 1) << run.result.err;
}

TEST(RunFiles, PassesOverTheDataAreWarnedOfLoggedAndCounted) {
  write_tokens(workplace() / "data/few", 1601, TokenType::u8, [](std::int64_t i) { return i % 90; });  // 50 samples
  const std::string few = "--data.train data/few --data.validation_fraction 0 --train.validation_batches 0 ";
  const TrainedRun run = train(2, few + "--train.steps 17");  // of 12 samples each: 4.08 passes
  ASSERT_EQ(run.result.exit_code, 0) << run.result.all();
  EXPECT_EQ(occurrences(run.result.err,
                        "data/few.bin: 17 steps ask for 6528 tokens of it, and 1600 are there to train on: "
                        "4.08 passes, more than data.max_passes = 4"),
            1)
      << run.result.err;
  for (const auto& [pass, step] : {std::pair(2, 5), std::pair(3, 9), std::pair(4, 13), std::pair(5, 17)}) {
    const std::string text =
        fmt::format("data: pass {} over data/few.bin begins in step {} (50 samples of 32 tokens", pass, step);
    EXPECT_EQ(occurrences(run.result.err, text), 1) << text << run.result.err;
  }
  EXPECT_EQ(occurrences(run.result.err, " begins in step "), 4) << run.result.err;
  for (const auto& line : run.metrics()) {
    EXPECT_EQ(line["passes"], nlohmann::ordered_json({line["step"].get<double>() * 12 / 50}));
  }
  for (const char* more : {"--train.steps 16", "--train.steps 17 --data.max_passes 5"}) {
    const TrainedRun quiet = train(1, few + more);
    EXPECT_EQ(quiet.result.exit_code, 0);
    EXPECT_EQ(occurrences(quiet.result.err, "data.max_passes"), 0) << quiet.result.err;
  }
}

TEST(RunFiles, LogEveryKeepsTheFirstAndTheLastStep) {
  const TrainedRun& run = finished(1, "--train.log_every 7 --train.steps 16");
  std::vector<std::int64_t> steps;
  for (const auto& line : run.metrics()) steps.push_back(line["step"]);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 7, 14, 16}));
}

TEST(RunFiles, TheStatusSaysHowItEnded) {
  const auto status = finished(2, longer + "bf16").status();
  EXPECT_EQ(status["state"], "finished");
  EXPECT_EQ(status["reason"], "all steps done");
  EXPECT_EQ(status["exit_code"], 0);
  EXPECT_EQ(status["step"], 90);
  EXPECT_EQ(status["steps"], 90);
  EXPECT_EQ(status["time"].get<std::string>().size(), std::string("2026-01-31T23:59:59Z").size());
  for (const auto& entry : std::filesystem::directory_iterator(finished(2, longer + "bf16").file(""))) {
    EXPECT_FALSE(entry.path().string().find(".tmp") != std::string::npos) << entry.path();
  }
}

TEST(RunFiles, TheResolvedConfigurationReadsBackAndRepeatsTheRun) {
  const TrainedRun& run = finished(2, "--precision float8 --train.micro_batch 1");
  const std::string text = read_bytes(run.file("config.yaml"));
  EXPECT_HAS(text, "dp_shard: 2");  // resolved
  EXPECT_HAS(text, "precision: float8");
  const CommandResult printed = in_workplace(octet_train + " " + run.directory + "/config.yaml --print-config");
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_EQ(printed.out, text);

  const TrainedRun again = train(2, "", run.directory + "/config.yaml");
  ASSERT_EQ(again.result.exit_code, 0) << again.result.all();
  EXPECT_EQ(again.losses(), run.losses());
}

TEST(RunFiles, TheConsoleHasOneLineAStepFromRankZero) {
  const TrainedRun& run = finished(3, "--precision bf16 --train.micro_batch 1");
  EXPECT_EQ(occurrences(run.result.out, "step: "), 20);
  EXPECT_EQ(occurrences(run.result.out, "\n"), 20) << run.result.out;
  for (const char* part : {"loss: ", "grad_norm: ", "memory: ", "tps: ", "tflops: ", "mfu: unknown"}) {
    EXPECT_EQ(occurrences(run.result.out, part) - (part == std::string("loss: ") ? 1 : 0), 20)
        << part;  // validation_loss
  }
  for (const char* part : {"model tiny: ", "dp_replicate 1 x dp_shard 3", "memory plan", "formats of the GEMMs"}) {
    EXPECT_EQ(occurrences(run.result.err, part), 1) << part;
  }
}

}  // namespace
}  // namespace octet::test

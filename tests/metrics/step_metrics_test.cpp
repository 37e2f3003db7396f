#include "src/metrics/step_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "tests/metrics/file_calls.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

using nlohmann::json;

StepMetrics example() {
  return {.step = 10,
          .loss = 2.125,
          .validation_loss = {},
          .grad_norm = 0.5123,
          .lr = 3e-4,
          .tokens = 81920,
          .tokens_per_second = 9042.4,
          .tokens_per_second_per_rank = 4521.2,
          .tflops = 0.1299,
          .mfu = {},
          .mfu_mixed = {},
          .memory_bytes = 332859965,
          .memory_percent = 1.3,
          .step_seconds = 0.9,
          .data_seconds = 0.001,
          .validation_seconds = 0.25,
          .checkpoint_stall_seconds = 0.125,
          .wait_seconds = 0.0625,
          .non_finite = 0};
}

TEST(Json, HasEveryKeyOfALine) {
  const json expected = {{"step", 10},
                         {"loss", 2.125},
                         {"grad_norm", 0.5123},
                         {"lr", 3e-4},
                         {"tokens", 81920},
                         {"tokens_per_second", 9042.4},
                         {"tokens_per_second_per_rank", 4521.2},
                         {"tflops", 0.1299},
                         {"mfu", nullptr},
                         {"memory_bytes", 332859965},
                         {"interval_steps", 1},
                         {"step_seconds", 0.9},
                         {"data_seconds", 0.001},
                         {"validation_seconds", 0.25},
                         {"checkpoint_stall_seconds", 0.125},
                         {"wait_seconds", 0.0625},
                         {"non_finite", 0}};
  EXPECT_EQ(json::parse(to_json(example())), expected);
}

TEST(Json, WhatNotEveryLineHasIsThereWhenMeasured) {
  StepMetrics m = example();
  EXPECT_FALSE(json::parse(to_json(m)).contains("validation_loss"));
  m.validation_loss = 2.25;
  m.mfu = 41.5;
  EXPECT_FALSE(json::parse(to_json(m)).contains("mfu_mixed"));
  m.mfu_mixed = 25.5;
  EXPECT_FALSE(json::parse(to_json(m)).contains("tflops_unmasked"));
  m.tflops_unmasked = 0.25;
  EXPECT_EQ(step_metrics_of(to_json(m), "m").tflops_unmasked, 0.25);
  EXPECT_THAT(console_line(m), testing::HasSubstr("tflops: 0.130 (unmasked 0.250)  mfu: 41.5%"));
  EXPECT_FALSE(json::parse(to_json(m)).contains("passes"));
  m.passes = {0.25, 3.5};
  const json line = json::parse(to_json(m));
  EXPECT_EQ(line.at("passes"), json({0.25, 3.5}));
  EXPECT_EQ(step_metrics_of(to_json(m), "m").passes, m.passes);
  EXPECT_EQ(line.at("mfu_mixed"), 25.5);
  EXPECT_EQ(line.at("validation_loss"), 2.25);
  EXPECT_FALSE(line.contains("validation_bits_per_byte"));
  m.validation_bits_per_byte = 0.75;
  EXPECT_EQ(json::parse(to_json(m)).at("validation_bits_per_byte"), 0.75);
  EXPECT_EQ(step_metrics_of(to_json(m), "x").validation_bits_per_byte, 0.75);
  EXPECT_NE(console_line(m).find("validation_loss: 2.2500 (0.7500 bits a byte)"), std::string::npos);
  m.validation_bits_per_byte.reset();
  EXPECT_EQ(line.at("mfu"), 41.5);
}

TEST(Json, WhatIsNoNumberIsNull) {
  StepMetrics m = example();
  m.loss = std::numeric_limits<double>::quiet_NaN();
  m.grad_norm = std::numeric_limits<double>::infinity();
  m.validation_loss = -std::numeric_limits<double>::infinity();
  m.non_finite = 12;
  const json line = json::parse(to_json(m));
  EXPECT_TRUE(line.at("loss").is_null());
  EXPECT_TRUE(line.at("grad_norm").is_null());
  EXPECT_TRUE(line.at("validation_loss").is_null());
  EXPECT_EQ(line.at("non_finite"), 12);
}

TEST(Json, NumbersKeepAllTheirDigits) {
  StepMetrics m = example();
  m.loss = 0.1 + 0.2;
  m.tokens = (std::int64_t{1} << 53) + 1;
  const json line = json::parse(to_json(m));
  EXPECT_EQ(line.at("loss").get<double>(), 0.1 + 0.2);
  EXPECT_EQ(line.at("tokens").get<std::int64_t>(), (std::int64_t{1} << 53) + 1);
  EXPECT_EQ(to_json(m).find('\n'), std::string::npos);
}

TEST(Json, WhatWasNotMeasuredIsReadAsNothing) {
  const StepMetrics m = example();
  EXPECT_EQ(to_json(step_metrics_of(to_json(m), "m")), to_json(m));
}

TEST(Json, InfinityIsReadAsNaN) {
  StepMetrics m = example();
  m.loss = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(step_metrics_of(to_json(m), "m").loss));
}

TEST(Json, LinesOfOlderVersionsAreRead) {
  json line = json::parse(to_json(example()));
  line["mfu"] = "unknown";
  for (const char* key : {"interval_steps", "validation_seconds", "checkpoint_stall_seconds", "wait_seconds"}) {
    line.erase(key);
  }
  const StepMetrics m = step_metrics_of(line.dump(), "m");
  EXPECT_FALSE(m.mfu);
  EXPECT_EQ(m.interval_steps, 1);
  EXPECT_EQ(wall_seconds(m), std::nullopt);
}

TEST(Json, StepsAndPausesAreWallTime) {
  StepMetrics m = example();
  m.interval_steps = 10;
  EXPECT_DOUBLE_EQ(wall_seconds(m).value(), 10 * 0.9 + 0.001 + 0.25 + 0.125 + 0.0625);
}

TEST(Json, WhatIsNoLineIsRefusedWithTheReason) {
  const auto reason = [](const std::string& line) -> std::string {
    return test::error_of([&] { step_metrics_of(line, "m:2"); });
  };
  EXPECT_TRUE(reason(R"({"step":1,"lo)").starts_with("[metrics] m:2: no valid JSON; expected the metrics of a step"));
  EXPECT_EQ(reason("[1]"), "[metrics] m:2 is [1]; expected an object");
  EXPECT_EQ(reason(R"({"step":1})"), "[metrics] m:2: loss is missing; expected a number or null");
  const json whole = json::parse(to_json(example()));
  for (const char* key :
       {"step", "loss", "grad_norm", "lr", "tokens", "tokens_per_second", "tokens_per_second_per_rank", "tflops", "mfu",
        "memory_bytes", "step_seconds", "data_seconds", "non_finite"}) {
    json line = whole;
    ASSERT_EQ(line.erase(key), 1u) << key;
    EXPECT_TRUE(reason(line.dump()).starts_with(fmt::format("[metrics] m:2: {} is missing; expected a", key))) << key;
  }
  EXPECT_EQ(reason(R"({"step":1.5})"), "[metrics] m:2: step is 1.5; expected an integer");
  EXPECT_EQ(reason(R"({"step":1,"loss":"low"})"), "[metrics] m:2: loss is \"low\"; expected a number or null");
}

TEST(ConsoleLine, IsTorchtitans) {
  EXPECT_EQ(console_line(example()),
            "step:    10  loss:   2.1250  grad_norm:  0.5123  memory: 0.31GiB(1.30%)  tps: 4,521  tflops: 0.130  mfu: "
            "unknown");
}

TEST(ConsoleLine, AddsWhatThereIs) {
  StepMetrics m = example();
  m.tokens_per_second_per_rank = 1234567;
  m.mfu = 41.49;
  m.mfu_mixed = 25.51;
  m.validation_loss = 2.0;
  m.non_finite = 3;
  const std::string line = console_line(m);
  EXPECT_NE(line.find("tps: 1,234,567  "), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with("mfu: 41.5% (of mixed peak 25.5%)  validation_loss: 2.0000  non_finite: 3")) << line;
}

TEST(MetricsWriter, AppendsALineAStepAtOnce) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("metrics-" + std::to_string(getpid()) + ".jsonl");
  std::filesystem::remove(path);
  StepMetrics m = example();
  const auto lines = [&] {
    std::ifstream file(path);
    std::vector<std::int64_t> steps;
    for (std::string line; std::getline(file, line);) steps.push_back(json::parse(line).at("step"));
    return steps;
  };
  {
    MetricsWriter writer(path.string());
    writer.write(m);
    EXPECT_EQ(lines(), (std::vector<std::int64_t>{10}));  // while the writer is open
    m.step = 11;
    writer.write(m);
  }
  m.step = 12;
  MetricsWriter(path.string()).write(m);
  EXPECT_EQ(lines(), (std::vector<std::int64_t>{10, 11, 12}));
  std::filesystem::remove(path);
}

TEST(MetricsWriter, RefusesAPathThatCannotBeWritten) {
  try {
    MetricsWriter writer("/no/such/folder/metrics.jsonl");
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    EXPECT_NE(std::string(e.what()).find("/no/such/folder/metrics.jsonl"), std::string::npos);
  }
}

TEST(MetricsWriter, SaysThatTheDiskIsFull) {
  MetricsWriter writer("/dev/full");
  EXPECT_THROW(writer.write(example()), Error);
}

TEST(MetricsWriter, SyncsTheFileAndItsName) {
  const auto folder = std::filesystem::canonical(testing::TempDir()) / ("octet-sync-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  MetricsWriter writer(folder / "metrics.jsonl");
  writer.write(example());
  test::file_calls() = {};
  writer.sync();
  EXPECT_EQ(test::file_calls().made,
            (std::vector<std::string>{"fsync " + (folder / "metrics.jsonl").string(), "fsync " + folder.string()}));
  std::filesystem::remove_all(folder);
  EXPECT_THROW(writer.sync(), Error);
}

}  // namespace
}  // namespace octet

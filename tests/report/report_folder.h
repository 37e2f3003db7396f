#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "src/base/error.h"
#include "src/metrics/step_metrics.h"

namespace octet::test {

/// A folder of its own for each test, removed at the end.
struct ReportTest : testing::Test {
  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("octet-report-" + std::to_string(getpid()));

  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  /// A run directory with one step for each of `losses`.
  std::string run(const std::string& name, const std::string& config, const std::vector<double>& losses) const;
};

inline StepMetrics metrics_of(std::int64_t step, double loss, std::optional<std::int64_t> restarts = 0) {
  StepMetrics m;
  m.step = step;
  m.loss = loss;
  m.tokens_per_second = 100;
  m.step_seconds = 2;
  m.restarts = restarts;
  return m;
}

inline std::string ReportTest::run(const std::string& name, const std::string& config,
                                   const std::vector<double>& losses) const {
  std::string lines;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    lines += to_json(metrics_of(static_cast<std::int64_t>(i) + 1, losses[i])) + "\n";
  }
  write(name + "/metrics.jsonl", lines);
  write(name + "/config.yaml", config);
  write(name + "/status.json",
        R"({"state":"running","reason":"","exit_code":0,"step":0,"steps":9,"restarts":0,"time":"T"})");
  return (folder / name).string();
}

/// The message of the usage error that `call` throws; "none" when it throws none.
template <typename Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    return error.what();
  }
  return "none";
}

}  // namespace octet::test

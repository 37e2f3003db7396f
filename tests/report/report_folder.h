#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "src/metrics/step_metrics.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

namespace octet::test {

/// A folder of its own for each test, removed at the end.
struct ReportTest : testing::Test {
  TempFolder folder;

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
  return folder / name;
}

}  // namespace octet::test

#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "src/metrics/cut_metrics.h"
#include "tests/support/expect_has.h"
#include "tests/support/temp_folder.h"

namespace octet::test {

/// A metrics file, which a run may go on with, and the file of what was discarded.
struct CutFixture : testing::Test {
  TempFolder folder;
  const std::string path = folder / "metrics.jsonl", discarded = folder / "metrics.discarded.jsonl";

  // A run that an earlier start left with lines of two steps behind its checkpoint, and with a part of a third.
  static constexpr std::int64_t last = 3;
  const std::string stays = "{\"step\":1,\"loss\":6.5}\n{\"step\":2,\"loss\":6.25}\n{\"step\":3,\"loss\":6}\n";
  const std::string moved = "{\"step\":4,\"loss\":5.5}\n{\"step\":5,\"loss\":5.25}\n{\"step\":6,\"lo";
  const std::string before = stays + moved;
  const std::string earlier = "{\"step\":3,\"loss\":6.125}\n{\"step\":4,\"l\n";  // discarded by an earlier start

  static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static void write(const std::string& file, const std::string& text) { std::ofstream(file) << text; }
  std::int64_t cut(std::int64_t step) const { return cut_metrics(path, discarded, step); }

  /// The lines of a file that a report counts.
  static std::vector<std::string> readable(const std::string& file) {
    std::vector<std::string> lines;
    std::istringstream text(read(file));
    for (std::string line; std::getline(text, line) && !text.eof();) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_object()) lines.push_back(json.dump());
    }
    return lines;
  }
};

}  // namespace octet::test

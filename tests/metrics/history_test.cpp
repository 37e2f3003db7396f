#include "src/metrics/step_metrics.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/base/error.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

struct History : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / ("octet-history-" + std::to_string(getpid()));
  std::string path = folder / "metrics.jsonl", discarded = folder / "metrics.discarded.jsonl";

  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  MetricsCut cut(std::int64_t last) const { return cut_metrics(path, discarded, last); }
};

TEST_F(History, LaterStepsAreMovedAway) {
  write("{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"step\":4}\n");
  const MetricsCut first = cut(3);
  EXPECT_EQ(first.kept, 3);
  EXPECT_EQ(first.discarded, 1);
  EXPECT_EQ(read(path), "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");
  EXPECT_EQ(read(discarded), "{\"step\":4}\n");
  EXPECT_EQ(cut(1).discarded, 2);
  EXPECT_EQ(read(path), "{\"step\":1}\n");
  EXPECT_EQ(read(discarded), "{\"step\":4}\n{\"step\":2}\n{\"step\":3}\n");
  EXPECT_EQ(cut(0).kept, 0);
  EXPECT_EQ(read(path), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
}

TEST_F(History, ACutOffLineIsNone) {
  write("{\"step\":1}\n{\"step\":2,\"lo");
  EXPECT_EQ(cut(5).kept, 1);
  EXPECT_EQ(read(path), "{\"step\":1}\n");
  EXPECT_EQ(read(discarded), "{\"step\":2,\"lo\n");
  write("{\"step\":1}\n{\"step\":2}");  // all of it but for the newline
  EXPECT_EQ(cut(5).kept, 1);
  write("{\"step\":1}\nnothing\n[2]\n{\"loss\":2}\n{\"step\":\"2\"}\n");
  EXPECT_EQ(cut(5).discarded, 4);
  EXPECT_EQ(read(path), "{\"step\":1}\n");
}

TEST_F(History, WhatStaysIsNotTouched) {
  EXPECT_EQ(cut(5).kept, 0);
  EXPECT_FALSE(fs::exists(path));
  write("{\"step\":1}\n{\"step\":2}\n");
  std::ifstream open_before(path);
  EXPECT_EQ(cut(2).kept, 2);
  EXPECT_FALSE(fs::exists(discarded));
  std::ofstream(path, std::ios::app) << "{\"step\":3}\n";
  std::ostringstream text;
  text << open_before.rdbuf();
  EXPECT_EQ(text.str(), read(path)) << "not the same file";
}

TEST_F(History, AFailureNamesThePathAndKeepsTheLines) {
  const std::string text = "{\"step\":1}\n{\"step\":2}\n";
  write(text);
  fs::create_directory(discarded);
  try {
    cut(1);
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::internal);
    EXPECT_NE(std::string(e.what()).find(discarded), std::string::npos) << e.what();
  }
  EXPECT_EQ(read(path), text);
}

}  // namespace
}  // namespace octet

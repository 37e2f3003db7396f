#include "src/metrics/status.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/log.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

struct Status : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / ("octet-status-" + std::to_string(getpid()));
  fs::path path = folder / "status.json";

  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  nlohmann::json read() const {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
  }
};

TEST_F(Status, HoldsWhyTheRunEnded) {
  write_status(path.string(), {.state = "stopped",
                               .reason = "SIGTERM\n\"quoted\"",
                               .exit_code = 75,
                               .step = 7,
                               .steps = 100,
                               .restarts = 2,
                               .checkpoint = "runs/a/checkpoints/step-000007",
                               .checkpoint_seconds = 1.5});
  EXPECT_EQ(read_status(path.string())->checkpoint_seconds, 1.5);
  nlohmann::json got = read();
  const std::string time = got.at("time");
  std::tm parts{};
  const char* end = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  EXPECT_TRUE(end != nullptr && *end == 0 && time.size() == 20) << time;
  got.erase("time");
  EXPECT_EQ(got, (nlohmann::json{{"state", "stopped"},
                                 {"reason", "SIGTERM\n\"quoted\""},
                                 {"exit_code", 75},
                                 {"step", 7},
                                 {"steps", 100},
                                 {"restarts", 2},
                                 {"checkpoint", "checkpoints/step-000007"},
                                 {"checkpoint_seconds", 1.5}}));
}

TEST_F(Status, ReadsBack) {
  EXPECT_FALSE(read_status(path.string()));
  write_status(path.string(), {.state = "running", .reason = "", .exit_code = 0, .step = 3, .steps = 9, .restarts = 1});
  const auto status = read_status(path.string());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->state, "running");
  EXPECT_EQ(status->step, 3);
  EXPECT_EQ(status->steps, 9);
  EXPECT_EQ(status->restarts, 1);
  EXPECT_EQ(status->checkpoint, "");
  EXPECT_EQ(status->time, read().at("time"));
  for (const char* wrong :
       {"", "{", "[]", "{}", R"({"state": 1, "reason": "", "exit_code": 0, "step": 0, "steps": 1})"}) {
    std::ofstream(path) << wrong;
    EXPECT_FALSE(read_status(path.string())) << wrong;
  }
}

/// As when the run directory is renamed or copied.
TEST_F(Status, NamesTheCheckpointWhereTheDirectoryIsNow) {
  const std::string kept = "checkpoints/step-000007";
  write_status(path.string(), {.state = "running", .reason = "", .checkpoint = folder / kept});
  EXPECT_EQ(read_status(path.string())->checkpoint, folder / kept);
  const fs::path elsewhere = folder / "copied";
  fs::create_directories(elsewhere);
  fs::copy_file(path, elsewhere / "status.json");
  EXPECT_EQ(read_status(elsewhere / "status.json")->checkpoint, elsewhere / kept);
  // As older versions wrote it, with run.dir as it was given.
  for (const char* then : {"/old/place/run/", "runs/a/", ""}) {
    std::ofstream(path) << nlohmann::json{{"state", "running"}, {"reason", ""}, {"exit_code", 0},
                                          {"step", 7},          {"steps", 9},   {"checkpoint", then + kept}};
    EXPECT_EQ(read_status(path.string())->checkpoint, folder / kept) << then;
  }
}

TEST_F(Status, TakesAReasonOfAnyBytes) {
  write_status(path.string(), {.state = "failed", .reason = "cannot read /data/caf\xe9", .exit_code = 70});
  EXPECT_EQ(read_status(path.string())->reason, "cannot read /data/caf\xef\xbf\xbd");
}

TEST_F(Status, ReplacesTheOldOneAndLeavesNothingElse) {
  write_status(path.string(), {.state = "running", .reason = std::string(10000, 'x')});
  write_status(path.string(), {.state = "finished", .reason = "all steps done"});
  EXPECT_EQ(read().at("state"), "finished");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

/// A reader that has the old file open keeps the whole old one: the new one is another file, moved into its place.
TEST_F(Status, IsNeverWrittenInPlace) {
  write_status(path.string(), {.state = "running", .reason = "first"});
  std::ifstream old(path);
  write_status(path.string(), {.state = "finished", .reason = "second"});
  EXPECT_EQ(nlohmann::json::parse(old).at("reason"), "first");
  EXPECT_EQ(read().at("reason"), "second");
}

TEST_F(Status, AFailureNamesThePathAndKeepsTheOldStatus) {
  write_status(path.string(), {.state = "running", .reason = "first"});
  // The temporary file is in the way as a folder, which not even root can open for writing.
  fs::create_directory(fmt::format("{}.{}-{}.tmp", path.string(), log::rank(), getpid()));
  try {
    write_status(path.string(), {.state = "finished", .reason = "second"});
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::internal);
    EXPECT_NE(std::string(e.what()).find(path.string()), std::string::npos);
  }
  EXPECT_EQ(read().at("reason"), "first");
}

}  // namespace
}  // namespace octet

#include "src/train/start/run_directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/error_of.h"
#include "tests/support/expect_has.h"
#include "tests/support/no_files.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

TEST(WriteRunDirectory, MakesItAndRemovesWhatAKilledStartLeft) {
  const fs::path folder = fs::path(testing::TempDir()) / ("octet-run-" + std::to_string(getpid()));
  const auto stream = cpu_device().make_stream();
  const auto world = make_self_communicator(*stream, "world");
  const RunDirectory run{.path = folder / "runs" / "a"};
  write_run_directory(run, "a: 1\n", {}, *world);
  for (const std::string& file : {run.config(), run.status(), run.metrics()}) std::ofstream(file + ".0-77.tmp") << "a:";
  write_run_directory(run, "a: 2\n", {}, *world);
  std::ifstream config(run.config());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(config), {}), "a: 2\n");
  EXPECT_FALSE(fs::exists(run.config() + ".0-77.tmp"));
  EXPECT_FALSE(fs::exists(run.status() + ".0-77.tmp"));
  EXPECT_TRUE(fs::exists(run.metrics() + ".0-77.tmp")) << "not by replace_file";
  fs::remove_all(folder);
}

/// Only a path that is wrong is a mistake.
TEST(WriteRunDirectory, SaysWhoseFaultItIsThatItIsNotMade) {
  const test::TempFolder folder;
  const auto stream = cpu_device().make_stream();
  const auto world = make_self_communicator(*stream, "world");
  const auto error = [&](const std::string& name, ExitCode code) {
    return test::error_of([&] { write_run_directory({.path = folder / name}, "a: 1\n", {}, *world); }, code);
  };
  std::ofstream(folder / "file") << "in the way";
  EXPECT_HAS(error("file/run", ExitCode::usage), "run.dir = " + (folder / "file/run") + ": cannot be made: ");
  const test::NoFiles cannot_sync;
  EXPECT_HAS(error("run", ExitCode::internal), "run.dir = " + (folder / "run") + ": cannot be made: ");
}

}  // namespace
}  // namespace octet

// `octet prepare` that is killed, or whose disk refuses, at calls of its write path: what is left, and that it goes on.
#include <set>

#include "src/base/error.h"
#include "src/corpus/input_files.h"
#include "src/corpus/pipeline.h"
#include "src/tokenizer/make_tokenizer.h"
#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::CorpusTest;
using test::error_of;
using test::read_bytes;
using test::run_command;
using test::write_bytes;

class Interrupted : public CorpusTest {
 protected:
  Interrupted() {
    for (int file = 0; file < 5; ++file) {
      std::string text;
      for (int i = 0; i < 40; ++i) text += fmt::format("{{\"text\": \"document {} of {}\"}}\n", i, file);
      write_bytes(folder_ / fmt::format("in/{}.jsonl", file), text);
    }
    run(folder_ / "whole");
    expected_ = files_in("whole");
    EXPECT_EQ(expected_.size(), 6U) << "two pairs, each with what is known of it";
  }

  CommandResult run(const std::string& out, const std::string& fault = "") {
    const std::string faults =
        fault.empty() ? "" : fmt::format("env LD_PRELOAD={} OCTET_FAULT_ROOT={} {} ", OCTET_FAULTS, out, fault);
    return run_command(
        fmt::format("{}{}/octet prepare --input {} --output {}/x --holdout 0.2 --part-size 1500 --workers 1", faults,
                    OCTET_BIN_DIR, folder_ / "in", out));
  }
  /// Names and contents.
  std::map<std::string, std::string> files_in(const std::string& name) {
    std::map<std::string, std::string> files;
    fs::create_directories(folder_ / name);
    for (const auto& entry : fs::directory_iterator(folder_ / name)) {
      files[entry.path().filename()] = entry.is_directory() ? "" : read_bytes(entry.path());
    }
    return files;
  }
  /// No index stands beside tokens that are not all there, and none of the files is another than at the end.
  void expect_nothing_looks_whole(const std::string& name) {
    for (const auto& [file, bytes] : files_in(name)) {
      if (file.ends_with(".idx")) {
        EXPECT_TRUE(bytes == expected_[file]) << file;
        const std::string tokens = file.substr(0, file.size() - 4) + ".bin";
        EXPECT_TRUE(files_in(name)[tokens] == expected_[tokens]) << tokens;
      }
    }
  }
  long calls_of_a_run() {
    const std::string count = folder_ / "count";
    const CommandResult counted = run(folder_ / "counted", "OCTET_FAULT_COUNT=" + count);
    EXPECT_EQ(counted.exit_code, 0) << counted.all();
    return std::stol(read_bytes(count));
  }

  std::map<std::string, std::string> expected_;
};

TEST_F(Interrupted, KilledAtAnyCallItGoesOnToTheSameBytes) {
  const long calls = calls_of_a_run();
  EXPECT_GT(calls, 50);
  int torn = 0;  // runs that were killed once more
  for (long call = 1; call <= calls; call += std::max(1L, calls / 14)) {
    SCOPED_TRACE(fmt::format("killed at call {} of {}", call, calls));
    const std::string name = fmt::format("killed{}", call);
    const CommandResult killed = run(folder_ / name, fmt::format("OCTET_FAULT=kill:{}", call));
    EXPECT_EQ(killed.exit_code, 137) << killed.all();
    expect_nothing_looks_whole(name);
    // Once more, unless what was left to do has fewer calls.
    const CommandResult again = run(folder_ / name, fmt::format("OCTET_FAULT=torn:{}", call));
    EXPECT_TRUE(again.exit_code == 137 || again.exit_code == 0) << again.all();
    expect_nothing_looks_whole(name);
    torn += again.exit_code == 137 ? 1 : 0;
    if (again.exit_code == 0) fs::remove_all(folder_ / name);
    const CommandResult gone_on = run(folder_ / name);
    EXPECT_EQ(gone_on.exit_code, 0) << gone_on.all();
    EXPECT_TRUE(files_in(name) == expected_);
    fs::remove_all(folder_ / name);
  }
  EXPECT_GT(torn, 0);
}

/// A side file is written under a name of its process: one that is killed there leaves it.
TEST_F(Interrupted, WhatAKilledOneLeftBesideItsFilesIsTakenAway) {
  EXPECT_EQ(run(folder_ / "left", "OCTET_FAULT=kill:40").exit_code, 137);
  for (const char* name : {"x.data.json.0-4194305.tmp", "x-holdout.data.json.3-17.tmp"}) {
    write_bytes(folder_ / fmt::format("left/{}", name), "{");
  }
  const CommandResult gone_on = run(folder_ / "left");
  EXPECT_EQ(gone_on.exit_code, 0) << gone_on.all();
  EXPECT_TRUE(files_in("left") == expected_);
}

TEST_F(Interrupted, AFullDiskIsOneMessageAndItGoesOnWhenThereIsRoom) {
  const long calls = calls_of_a_run();
  int refused = 0;
  for (long call = 1; call <= calls; call += std::max(1L, calls / 11)) {
    SCOPED_TRACE(fmt::format("full at call {} of {}", call, calls));
    const std::string name = fmt::format("full{}", call);
    const CommandResult full = run(folder_ / name, fmt::format("OCTET_FAULT=enospc:{}", call));
    EXPECT_NE(full.exit_code, 137);
    if (full.exit_code != 0) {
      ++refused;
      const auto first = full.err.find(" E ");
      EXPECT_NE(first, std::string::npos) << full.all();
      EXPECT_EQ(full.err.find(" E ", first + 1), std::string::npos) << full.all();
      EXPECT_HAS(full.err, "No space left on device");
      expect_nothing_looks_whole(name);
      const CommandResult gone_on = run(folder_ / name);
      EXPECT_EQ(gone_on.exit_code, 0) << gone_on.all();
    }
    EXPECT_TRUE(files_in(name) == expected_);
    fs::remove_all(folder_ / name);
  }
  EXPECT_GT(refused, 6);
}

TEST_F(Interrupted, InputThatCannotBeReadIsOneError) {
  EXPECT_HAS(error_of([&] { prepare(options({"/proc/self/mem"})); }, ExitCode::internal),
             "/proc/self/mem: cannot be read: Input/output error");
}

TEST_F(Interrupted, AFileThatHasChangedSinceItWasListedIsOneError) {
  const InputPlan plan = plan_input(find_input_files({folder_ / "in"}), {}, 1 << 20, {});
  const auto tokenizer = make_tokenizer("bytes");
  EXPECT_NO_THROW(read_unit(plan.parts[0].units[1], {}, *tokenizer));
  write_bytes(folder_ / "in/1.jsonl", "{\"text\": \"other\"}\n");
  EXPECT_HAS(error_of([&] { read_unit(plan.parts[0].units[1], {}, *tokenizer); }),
             (folder_ / "in/1.jsonl") + ": has changed while octet prepare ran: it had ");
}

TEST_F(Interrupted, AFolderThatVanishesIsOneError) {
  const InputPlan plan = plan_input(find_input_files({folder_ / "in"}), {}, 1500, {});
  fs::remove_all(folder_ / "in");
  const auto tokenizer = make_tokenizer("bytes");
  BrokenRecords broken(0);
  const PartWork work{.parts = plan.parts,
                      .todo = {0, 1, 2},
                      .open =
                          [&](std::size_t part) {
                            return std::make_unique<PartWriter>(
                                plan.parts[part], PartWriter::Files{.prefix = folder_ / fmt::format("gone/{}", part)},
                                broken);
                          },
                      .finished = [](std::size_t, const PartCounts&) { FAIL(); }};
  EXPECT_HAS(error_of([&] { work_on_parts(work, *tokenizer, {.workers = 2}); }),
             (folder_ / "in/0.jsonl") + ": cannot be read: No such file or directory");
  EXPECT_TRUE(fs::is_empty(folder_ / "gone"));
}

}  // namespace
}  // namespace octet

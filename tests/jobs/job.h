#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/data/support.h"
#include "tests/support/run_command.h"

// The real programs on a tiny model and simple text. Commands run in a folder that holds tiny.yaml, run.yaml and
// data/text.{bin,idx}; its files are made once for the whole test program.
namespace octet::test {

inline const std::string octet_train = OCTET_BIN_DIR "/octet-train";
/// With a space for their arguments.
inline const std::string octet_tool = OCTET_BIN_DIR "/octet ", octet_evaluate = OCTET_BIN_DIR "/octet-evaluate ";

constexpr const char* tiny_model =
    "dim: 32\nlayers: 2\nheads: 4\nkv_heads: 2\nhead_dim: 16\nffn_dim: 64\nvocab_size: 256\n";
constexpr const char* run_file =
    "model: ./tiny.yaml\n"
    "precision: fp32\n"
    "train:\n"
    "  steps: 20\n"
    "  seq_len: 32\n"
    "  global_batch: 12\n"  // for 1, 2, 3 and 4 ranks
    "  validation_batches: 2\n"
    "data:\n"
    "  train: data/text\n"
    "optimizer:\n"
    "  lr: 3e-3\n"
    "schedule:\n"
    "  kind: constant\n"
    "  warmup_steps: 0\n"
    "checkpoint:\n"
    "  interval: off\n";  // where a test is not about them

/// Sentences of random English words: enough structure that a tiny model gets far below the entropy of letters.
inline std::string simple_text() {
  const std::vector<std::string> words = {"the",  "of",    "and",  "water", "in",   "that",  "was",  "house",
                                          "for",  "on",    "are",  "with",  "as",   "his",   "they", "be",
                                          "at",   "one",   "have", "this",  "from", "night", "by",   "hot",
                                          "word", "river", "what", "some",  "we",   "can"};
  std::mt19937 random(1);  // the same numbers everywhere; the standard's distributions would not be
  std::string text;
  while (text.size() < 120'000) {
    std::string sentence;
    for (auto n = 4 + random() % 8; n > 0; --n)
      sentence += (sentence.empty() ? "" : " ") + words[random() % words.size()];
    text += sentence + ".\n";
  }
  return text;
}

/// The folder, a text of where it is, and what is below it.
inline const TempFolder& workplace() {
  static const TempFolder folder;
  static const bool filled = [] {
    write_bytes(folder / "tiny.yaml", tiny_model);
    write_bytes(folder / "run.yaml", run_file);
    write_bytes(folder / "text/simple.txt", simple_text());
    const CommandResult r =
        run_command("cd " + folder.path() + " && " OCTET_BIN_DIR "/octet prepare --input text --output data/text");
    if (r.exit_code != 0) throw std::runtime_error("octet prepare: " + r.all());
    return true;
  }();
  (void)filled;
  return folder;
}

/// Asked for by tests/run.sh --long.
inline bool is_long() {
  return std::getenv("OCTET_TEST_LONG") != nullptr;
}

/// One rank, one thread. The limit is against hanging only.
inline CommandResult in_workplace(const std::string& command, double limit_seconds = 120) {
  return run_command("cd " + workplace().path() + " && export OMP_NUM_THREADS=1 && exec " + command, limit_seconds);
}

inline std::string launched(int ranks, const std::string& arguments) {
  return fmt::format("mpiexec -n {} {} {}", ranks, octet_train, arguments);
}

/// A run directory that nothing else uses, relative to the workplace.
inline std::string new_run_directory() {
  static int number = 0;
  return fmt::format("runs/{}", ++number);
}

/// A run that has ended, and its files.
struct TrainedRun {
  CommandResult result;
  std::string directory;  ///< relative to the workplace

  std::string file(const std::string& name) const { return workplace() / (directory + "/" + name); }
  bool has(const std::string& name) const { return std::filesystem::exists(file(name)); }
  nlohmann::ordered_json status() const { return nlohmann::ordered_json::parse(read_bytes(file("status.json"))); }
  std::vector<nlohmann::ordered_json> lines(const std::string& name) const {
    std::vector<nlohmann::ordered_json> out;
    std::istringstream text(read_bytes(file(name)));
    for (std::string line; std::getline(text, line);) out.push_back(nlohmann::ordered_json::parse(line));
    return out;
  }
  std::vector<nlohmann::ordered_json> metrics() const { return lines("metrics.jsonl"); }
  std::vector<double> losses(const std::string& key = "loss") const {
    std::vector<double> out;
    for (const auto& line : metrics()) {
      if (line.contains(key)) out.push_back(line[key]);
    }
    return out;
  }
};

/// In a directory that an earlier run may have used.
inline TrainedRun train_in(const std::string& directory, int ranks, const std::string& arguments,
                           const std::string& file = "run.yaml") {
  return {in_workplace(launched(ranks, file + " --run.dir " + directory + " " + arguments)), directory};
}

inline TrainedRun train(int ranks, const std::string& arguments, const std::string& file = "run.yaml") {
  return train_in(new_run_directory(), ranks, arguments, file);
}

/// The finished run with these arguments, trained when first asked for.
inline const TrainedRun& finished(int ranks, const std::string& arguments) {
  static std::map<std::pair<int, std::string>, TrainedRun> runs;
  const auto [place, is_new] = runs.try_emplace({ranks, arguments});
  if (is_new) place->second = train(ranks, arguments);
  if (place->second.result.exit_code != 0) throw std::runtime_error(arguments + ": " + place->second.result.all());
  return place->second;
}

/// One with a checkpoint of its end.
inline const TrainedRun& saved_run() {
  return finished(1, "--checkpoint.interval auto");
}

/// Largest |a - b| / |b|; infinite for series of different lengths, or none at all.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]) / std::abs(b[i]));
  return std::isnan(worst) ? INFINITY : worst;
}

/// Every step from 1 to `last` has one line.
inline void expect_whole_until(const TrainedRun& run, std::int64_t last) {
  std::int64_t step = 0;
  for (const auto& line : run.metrics()) EXPECT_EQ(line["step"], ++step);
  EXPECT_EQ(step, last);
}

inline int occurrences(const std::string& text, const std::string& what) {
  int n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace octet::test

#include "src/train/start/misplaced_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "checkpoints/read_file.h"
#include "checkpoints/restore.h"
#include "src/base/error.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-";

bool holds_checkpoint(const std::string& folder) {
  std::error_code error;
  return fs::exists(fs::path(folder) / checkpoint::manifest_name, error);
}

/// Unfinished writes and removals, what a start has set aside, and what is hidden.
bool is_left_by_octet(const std::string& name) {
  return name.starts_with('.') || name.ends_with(".tmp") ||
         (name.starts_with(prefix) && name.find(".damaged") != std::string::npos);
}

/// The folders in `root` that hold a checkpoint and that nobody has set aside, in the order of their names.
std::vector<fs::path> checkpoints_in(const std::string& root) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(root, error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (!is_left_by_octet(entry->path().filename()) && holds_checkpoint(entry->path())) found.push_back(entry->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) throw checkpoint::ReadError(root, error.value());
  std::ranges::sort(found);
  return found;
}

/// Of a run that has none where it belongs.
std::vector<fs::path> misplaced(const std::string& run, const std::string& checkpoints) {
  if (holds_checkpoint(run)) return {run};
  std::vector<fs::path> found = checkpoints_in(checkpoints);
  for (const fs::path& beside : checkpoints_in(run)) {
    if (beside.filename().string().starts_with(prefix)) found.push_back(beside);
  }
  return found;
}

/// The name that a run finds it by.
std::string expected_name(const std::string& folder) {
  try {
    return checkpoint::directory_name(checkpoint::read_manifest(folder).state.step);
  } catch (const Error&) {
    return "step-NNNNNN of its step";
  }
}

}  // namespace

void refuse_misplaced_checkpoint(const std::string& run, const std::string& checkpoints) {
  const std::vector<fs::path> found = misplaced(run, checkpoints);
  if (found.empty()) return;
  throw usage_error("train",
                    "run.dir = {}: there is no checkpoint to go on from, but {} holds one, which no run finds there; "
                    "expected {}/{}: move it there, or out of the run's folder to begin without it "
                    "(docs/problems.md, \"A checkpoint stands where no run looks\")",
                    run, found.front().string(), checkpoints, expected_name(found.front()));
}

}  // namespace octet

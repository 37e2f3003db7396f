#include "src/train/start/misplaced_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "checkpoints/format/format.h"
#include "checkpoints/format/unknown_format.h"
#include "checkpoints/restore/restore.h"
#include "src/base/error.h"
#include "src/base/read_file.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// Whether the folder's manifest.json may be that of a checkpoint; other programs have files of this name too. It may
/// be one that can be read, is of a newer program, or stands beside files of tensors, even if it is damaged. Throws a
/// ReadError where the file system does not give it.
bool may_be_checkpoint(const fs::path& folder) {
  if (!files::is_there(folder / checkpoint::manifest_name)) return false;
  if (files::is_there(folder / checkpoint::file_name(0))) return true;
  try {
    checkpoint::read_manifest(folder);
  } catch (const checkpoint::UnknownFormat&) {
  } catch (const files::ReadError&) {
    throw;
  } catch (const Error&) {
    return false;
  }
  return true;
}

/// As may_be_checkpoint. A lack of rights is told with what makes this folder matter, since the user may not know that
/// it is looked at.
bool holds_checkpoint(const fs::path& folder) {
  try {
    return may_be_checkpoint(folder);
  } catch (const files::ReadError& error) {
    if (!files::is_refused(error.error())) throw;
    throw usage_error("train",
                      "{}: cannot be read: {}; it may hold a checkpoint that no run finds there; expected it moved out "
                      "of the run's folder, or made readable (docs/problems.md, \"A checkpoint stands where no run "
                      "looks\")",
                      error.path(), error.reason());
  }
}

/// Unfinished writes and removals, what a start has set aside, what is hidden, and what a file system keeps for itself,
/// where only root may look.
bool is_passed_over(const std::string& name) {
  return name.starts_with('.') || name.ends_with(checkpoint::unfinished_suffix) || checkpoint::is_set_aside(name) ||
         name == "lost+found";
}

/// The folders in `root` whose names begin so, that hold a checkpoint and that nobody has set aside, in the order of
/// their names.
std::vector<fs::path> checkpoints_in(const std::string& root, std::string_view beginning) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(root, error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(beginning) || is_passed_over(name)) continue;
    if (holds_checkpoint(entry->path())) found.push_back(entry->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) throw files::ReadError(root, error.value());
  std::ranges::sort(found);
  return found;
}

/// The checkpoints that are not where they belong, for a run that has none there.
std::vector<fs::path> misplaced(const std::string& run, const std::string& checkpoints, const std::string& init_from) {
  std::vector<fs::path> found = checkpoints_in(checkpoints, "");
  for (fs::path& beside : checkpoints_in(run, checkpoint::step_prefix)) found.push_back(std::move(beside));
  if (holds_checkpoint(run)) found.emplace_back(run);
  std::erase_if(found, [&](const fs::path& folder) {
    std::error_code error;
    return !init_from.empty() && fs::equivalent(folder, init_from, error);
  });
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

void refuse_misplaced_checkpoint(const std::string& run, const std::string& checkpoints, const std::string& init_from) {
  const std::vector<fs::path> found = misplaced(run, checkpoints, init_from);
  if (found.empty()) return;
  const std::string others = found.size() == 1 ? "" : fmt::format(" (and {} more)", found.size() - 1);
  throw usage_error("train",
                    "run.dir = {}: there is no checkpoint to go on from, but {} holds one, which no run finds there{}; "
                    "expected {}/{}: move it there, or out of the run's folder to begin without it "
                    "(docs/problems.md, \"A checkpoint stands where no run looks\")",
                    run, found.front().string(), others, checkpoints, expected_name(found.front()));
}

}  // namespace octet

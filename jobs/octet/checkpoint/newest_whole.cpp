#include <filesystem>

#include "checkpoints/format/unknown_format.h"
#include "checkpoints/restore/verification.h"
#include "jobs/octet/checkpoint/tool.h"
#include "src/base/log.h"
#include "src/run_config/options/model_file.h"

namespace octet::tool {
namespace {

std::string names_of(const std::vector<OpenCheckpoint>& checkpoints) {
  std::string text;
  for (const OpenCheckpoint& c : checkpoints) text += (text.empty() ? "" : ", ") + c.directory;
  return text;
}

void check_same_model(const OpenCheckpoint& a, const OpenCheckpoint& b) {
  const auto differences = model_differences(config_of(a).model, config_of(b).model);
  if (differences.empty()) return;
  const ModelDifference& first = differences.front();
  throw usage_error("octet", "{} and {} are of different models, which have no mean: {} is {} and {}", a.directory,
                    b.directory, first.key, first.there, first.here);
}

bool is_gone(const std::string& path) {
  std::error_code error;
  return !std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

/// What cannot be read today may be whole: an older one must not be taken for the newest in silence.
Error unreadable(const std::string& path, const std::string& why) {
  return internal_error("octet", "{}: cannot be read, which is no damage ({}); name an older one to take that", path,
                        why);
}

}  // namespace

std::vector<OpenCheckpoint> newest_whole(const std::string& run, int count, int threads,
                                         const checkpoint::TensorChoice& used) {
  if (is_checkpoint(run)) {
    throw usage_error("octet", "{}: is one checkpoint; expected a run, of which the newest {} are taken", run, count);
  }
  std::vector<OpenCheckpoint> found;
  for (const std::string& path : checkpoints_of(run)) {
    if (found.size() == static_cast<std::size_t>(count)) break;
    OpenCheckpoint candidate{path, {}};
    try {
      candidate.manifest = checkpoint::read_manifest(path);
    } catch (const checkpoint::UnknownFormat&) {
      throw;
    } catch (const Error& damage) {
      if (damage.code() == ExitCode::internal || is_gone(path)) throw unreadable(path, damage.what());
      log::warning("{}; it is passed over", damage.what());
      continue;
    }
    const int code = report_damage(candidate, threads, used);
    if (code == static_cast<int>(ExitCode::internal) || (code != 0 && is_gone(path))) {
      throw unreadable(path, "see above");
    }
    if (code != 0) {
      log::warning("{}: is damaged and passed over", path);
      continue;
    }
    found.push_back(std::move(candidate));
  }
  if (found.size() < static_cast<std::size_t>(count)) {
    throw usage_error("octet", "{}: has {} whole checkpoint{}, and {} {} asked for{}{}", run, found.size(),
                      found.size() == 1 ? "" : "s", count, count == 1 ? "is" : "are", found.empty() ? "" : ": ",
                      names_of(found));
  }
  for (const OpenCheckpoint& c : found) check_same_model(c, found.front());
  return found;
}

}  // namespace octet::tool

#include "jobs/octet/checkpoint/tool.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>

#include "checkpoints/restore/restore.h"
#include "checkpoints/restore/verification.h"
#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/base/read_file.h"
#include "src/base/usable_cores.h"
#include "src/run_config/options/run_options.h"

namespace octet::tool {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// Throws ReadError where that cannot be told: a folder of a file system that fails is not one that is not there.
bool is_readable_folder(const fs::path& path) {
  return files::is_there(path) && is_folder(path);
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

/// With progress, whose line is gone when this returns.
std::vector<checkpoint::Damage> damage_of(const OpenCheckpoint& checkpoint, int threads,
                                          const checkpoint::TensorChoice& used) {
  Progress progress("verifying " + checkpoint.directory, checkpoint::bytes_to_verify(checkpoint.manifest, used));
  return checkpoint::find_damage(
      checkpoint.directory, checkpoint.manifest, threads, [&](std::int64_t bytes) { progress.advance(bytes); }, used);
}

}  // namespace

std::string checkpoints_folder(const std::string& run) {
  if (is_readable_folder(fs::path(run) / "checkpoints")) return without_slash(run) + "/checkpoints";
  if (is_readable_folder(run)) return without_slash(run);
  throw usage_error("octet", "{}: is no folder; expected that of a run", run);
}

bool is_checkpoint(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::path(path) / checkpoint::manifest_name, error) ||
         (checkpoint::step_of(path) && is_folder(path));
}

std::vector<std::string> checkpoints_of(const std::string& run) {
  if (!is_folder(run)) throw usage_error("octet", "{}: is no folder; expected a checkpoint, or a run", run);
  auto found = checkpoint::list_checkpoints(checkpoints_folder(run));
  if (!found.empty()) return found;
  throw usage_error("octet", "{}: is no checkpoint (no {}) and no run that has one", run, checkpoint::manifest_name);
}

std::string checkpoint_at(const std::string& path) {
  if (is_checkpoint(path)) return without_slash(path);
  std::string newest = checkpoints_of(path).front();
  log::info("newest checkpoint of {}: {}", path, newest);
  return newest;
}

void add_threads(Schema& schema, int& threads) {
  schema.add("threads", threads).at_least(0).help("Threads that hash; 0: as many as there are cores.");
}

int hashing_threads(int asked) {
  constexpr int most = 64;  // beyond that, it is the disk that one waits for
  return asked > 0 ? asked : std::min(usable_cores(), most);
}

int report_damage(const OpenCheckpoint& checkpoint, int threads, const checkpoint::TensorChoice& used) {
  int code = 0;
  for (const checkpoint::Damage& d : damage_of(checkpoint, threads, used)) {
    log::error("[octet] {}/{}: {}", checkpoint.directory, d.file, d.what);
    code = std::max(code, static_cast<int>(d.code));
  }
  return code;
}

OpenCheckpoint open_verified(const std::string& path, int threads, const checkpoint::TensorChoice& used) {
  if (!is_checkpoint(path)) {
    OpenCheckpoint newest = newest_whole(path, 1, threads, used).front();
    log::info("newest whole checkpoint of {}: {}", path, newest.directory);
    return newest;
  }
  OpenCheckpoint checkpoint{without_slash(path), {}};
  checkpoint.manifest = checkpoint::read_manifest(checkpoint.directory);
  if (const int code = report_damage(checkpoint, threads, used); code != 0) {
    const char* const what = code == static_cast<int>(ExitCode::internal) ? "cannot be read" : "is damaged";
    throw Error(static_cast<ExitCode>(code),
                fmt::format("[octet] {}: {} and was not used", checkpoint.directory, what));
  }
  return checkpoint;
}

void while_run_prunes(const std::string& path, const std::function<void()>& work) {
  constexpr int most = 5;
  for (int attempt = 1;; ++attempt) {
    const bool is_named = is_checkpoint(path);
    const std::vector<std::string> before = is_named ? std::vector{path} : checkpoints_of(path);
    try {
      return work();
    } catch (const Error& error) {
      const auto gone = std::ranges::find_if_not(before, is_folder);
      if (gone == before.end()) throw;
      if (is_named || attempt == most) {
        throw usage_error("octet",
                          "{}: is not there any more: its run has removed it meanwhile, as its checkpoint.keep "
                          "says; try again with a newer one ({})",
                          *gone, error.what());
      }
      log::info("{} is not there any more, as its run goes on; the newest is looked for again", *gone);
    }
  }
}

RunConfig config_of(const OpenCheckpoint& checkpoint, bool* has_seq_len) {
  RunConfig config;
  Schema schema;
  read_stored_options(schema, config, checkpoint.manifest.state.config, checkpoint.directory);
  if (has_seq_len != nullptr) *has_seq_len = schema.find("train.seq_len")->is_set();
  return config;
}

std::string loss_text(const checkpoint::RunState& state, int digits) {
  return state.step == 0 || !std::isfinite(state.loss) ? "-" : fmt::format("{:.{}f}", state.loss, digits);
}

std::int64_t bytes_of(const std::vector<checkpoint::StoredFile>& files) {
  std::int64_t bytes = 0;
  for (const checkpoint::StoredFile& file : files) bytes += file.bytes;
  return bytes;
}

std::int64_t bytes_of(const checkpoint::Manifest& manifest) {
  return bytes_of(manifest.files);
}

std::string time_of(const std::string& directory) {
  struct stat info {};
  std::tm parts{};
  if (stat((directory + "/" + checkpoint::manifest_name).c_str(), &info) != 0 ||
      gmtime_r(&info.st_mtime, &parts) == nullptr) {
    return "?";
  }
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

}  // namespace octet::tool

#include "checkpoints/restore/restore.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <system_error>

#include "checkpoints/format/unknown_format.h"
#include "checkpoints/restore/manifest_message.h"
#include "checkpoints/restore/shared_hashing.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/base/seconds_since.h"
#include "src/comm/agreement.h"
#include "src/comm/control_exchange.h"
#include "src/comm/look_together.h"
#include "src/comm/packing.h"
#include "src/comm/read_together.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;

/// One that cannot be looked at, or is listed and then not there, must not pass for none: an older one would be taken
/// in silence.
bool may_be_checkpoint(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::status_known(status)) return fs::is_directory(status) || !fs::exists(status);
  throw files::ReadError(path, error.value());
}

/// What the reader of a manifest tells the others.
enum class ManifestIs : std::uint8_t { good, damaged, unknown, unread };

/// Rank 0 reads the manifest, the others get it from there: one reader, and one opinion of what it says. All throw the
/// same UnknownFormat, and the same error where the machine could not read it, such as for want of memory: that is no
/// damage, for which a checkpoint would be set aside.
std::optional<std::string> share_manifest(const std::string& directory, Manifest& manifest, Communicator& control) {
  const std::string path = directory + "/" + manifest_name;
  const bool reads = control.rank() == 0;
  std::string text_there;
  files::ReadProgress progress;
  const auto read = [&] {
    if (reads) files::with_retries(progress, [&] { text_there = files::read_file(path); });
  };
  if (auto absent = files::read_together("read of a checkpoint's manifest", control, progress, read)) return absent;
  Packer packer;
  if (reads) {
    std::string unknown;
    const auto parse = [&] {
      manifest = parse_manifest(text_there, path);
      const std::optional<std::int64_t> named = step_of(directory);
      if (named && *named != manifest.state.step) {
        throw usage_error("checkpoints", "{}: its manifest is of step {}", directory, manifest.state.step);
      }
    };
    const std::optional<Failure> failure = failure_of([&] {
      try {
        parse();
      } catch (const UnknownFormat& format) {
        unknown = format.reason();
      }
    });
    if (failure) {
      packer.put(failure->code == ExitCode::usage ? ManifestIs::damaged : ManifestIs::unread, failure->text);
    } else if (!unknown.empty()) {
      packer.put(ManifestIs::unknown, unknown);
    } else {
      packer.put(ManifestIs::good);
      put_manifest(packer, manifest);
    }
  }
  const std::string message = broadcast_bytes(packer.bytes(), 0, control);
  Unpacker unpacker(message);
  const auto found = unpacker.take<ManifestIs>();
  if (found == ManifestIs::unknown) throw UnknownFormat(path, unpacker.take_text(), true);
  if (found == ManifestIs::unread) throw Error(ExitCode::internal, unpacker.take_text(), true);
  if (found == ManifestIs::damaged) return unpacker.take_text();
  if (reads) return std::nullopt;
  manifest = take_manifest(unpacker);
  unpacker.expect_end();
  return std::nullopt;
}

/// Files that this rank hashes at a time: one a thread that it computes with, until the storage is what limits it. To
/// be asked on the main thread, which OpenMP answers for.
int hashing_threads() {
  constexpr int most = 8;
  return std::min(omp_get_max_threads(), most);
}

/// The ranks together hash every file that the manifest lists; what is wrong. Rank 0 keeps the verdict.
std::optional<std::string> verify_files(const std::string& directory, const Manifest& manifest, Communicator& control,
                                        Verdicts& verdicts) {
  const bool keeps = control.rank() == 0;
  Verdicts::Files seen;
  if (keeps) seen = Verdicts::look_at(directory, manifest.files);
  const int rank = control.rank(), ranks = control.size(), threads = hashing_threads();
  Findings mine;
  files::ReadProgress progress;
  const auto read = [&] { mine = hash_share(directory, manifest.files, rank, ranks, threads, progress); };
  if (auto absent = files::read_together("read of a checkpoint's files", control, progress, read)) return absent;
  const Findings all = of_all_ranks(mine, control);
  if (keeps && all.complete) verdicts.keep(directory, std::move(seen), all.all_well());
  return all.all_well() ? std::nullopt : std::optional(all.text());
}

/// The folder of checkpoints that `path` means; empty where it is a checkpoint itself. Rank 0 decides: another host may
/// still see what was there before.
std::string root_together(const std::string& path, Communicator& control) {
  std::string root;
  files::look_together(control, [&] {
    if (control.rank() != 0) return;
    const std::string below = (fs::path(path) / "checkpoints").string();
    const bool is_one = step_of(path) || files::is_there((fs::path(path) / manifest_name).string());
    root = is_one ? "" : files::is_there(below) ? below : path;
  });
  return broadcast_bytes(root, 0, control);
}

/// list_checkpoints on rank 0, for all.
std::vector<std::string> list_together(const std::string& root, Communicator& control) {
  files::expect_same_files({root}, control);
  const bool lists = control.rank() == 0;
  std::vector<std::string> found;
  files::ReadProgress progress;
  const auto list = [&] {
    if (lists) files::with_retries(progress, [&] { found = list_checkpoints(root); });
  };
  if (files::read_together("list of the checkpoints", control, progress, list)) return {};
  Packer packer;
  packer.put(static_cast<std::int64_t>(found.size()));
  for (const std::string& path : found) packer.put(path);
  const std::string all = broadcast_bytes(packer.bytes(), 0, control);
  Unpacker unpacker(all);
  std::vector<std::string> paths(static_cast<std::size_t>(unpacker.take<std::int64_t>()));
  for (std::string& path : paths) path = unpacker.take_text();
  unpacker.expect_end();
  return paths;
}

}  // namespace

std::vector<std::string> list_checkpoints(const std::string& root) {
  std::error_code error;
  const bool exists = fs::exists(root, error);
  if (!exists && !error) return {};
  std::map<std::int64_t, std::string, std::greater<>> by_step;
  fs::directory_iterator entries;
  if (!error) entries = fs::directory_iterator(root, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string path = entries->path().string();
    const std::optional<std::int64_t> step = step_of(path);
    if (step && may_be_checkpoint(path)) by_step[*step] = path;
  }
  if (error) throw files::ReadError(root, error.value());
  std::vector<std::string> paths;
  paths.reserve(by_step.size());
  for (const auto& [step, path] : by_step) paths.push_back(path);
  return paths;
}

std::optional<std::string> verify(const std::string& directory, Manifest& manifest, Communicator& control) {
  if (auto wrong = share_manifest(directory, manifest, control)) return wrong;
  Verdicts forgotten;
  return verify_files(directory, manifest, control, forgotten);
}

std::optional<Found> find_newest_valid(const std::string& root, Communicator& control) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::string> paths = list_together(root, control);
  std::string damages;
  std::vector<std::string> damaged;
  double hash_seconds = 0;
  Verdicts verdicts;
  for (const std::string& path : paths) {
    Found found{.directory = path, .manifest = {}};
    std::optional<std::string> wrong = share_manifest(path, found.manifest, control);
    if (!wrong) {
      const auto hashing = std::chrono::steady_clock::now();
      wrong = verify_files(path, found.manifest, control, verdicts);
      hash_seconds += seconds_since(hashing);
    }
    if (!wrong) {
      found.verdicts = std::move(verdicts);
      found.damaged = std::move(damaged);
      found.hash_seconds = hash_seconds;
      found.choose_seconds = seconds_since(begin) - hash_seconds;
      return found;
    }
    if (control.rank() == 0) log::error("checkpoint {} is DAMAGED and not used: {}", path, *wrong);
    damages += "\n  " + *wrong;
    damaged.push_back(path);
  }
  if (paths.empty()) return std::nullopt;
  throw usage_error("checkpoints",
                    "{}: found {} checkpoint(s), none of them valid (docs/problems.md, \"No checkpoint is valid\"):{}",
                    root, paths.size(), damages);
}

std::optional<Found> find_checkpoint(const std::string& path, Communicator& control) {
  const std::string root = root_together(path, control);
  if (!root.empty()) return find_newest_valid(root, control);
  Found found{.directory = path, .manifest = {}};
  const auto damage = verify(path, found.manifest, control);
  if (damage) throw usage_error("checkpoints", "{}: is damaged and was not used: {}", path, *damage);
  return found;
}

}  // namespace octet::checkpoint

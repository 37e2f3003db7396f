#include "checkpoints/save/commit.h"

#include <chrono>
#include <filesystem>
#include <system_error>

#include "checkpoints/format/durable.h"
#include "src/base/error.h"
#include "src/base/in_background.h"
#include "src/base/log.h"

namespace octet::checkpoint {
namespace {

/// What was written is there under the names and with the sizes that the manifest promises.
void check_written(const std::string& directory, const Manifest& manifest) {
  if (read_manifest(directory) != manifest) {
    throw internal_error("checkpoints", "{}/{}: reads back as another one than was written", directory, manifest_name);
  }
  for (const StoredFile& file : manifest.files) {
    const std::string path = directory + "/" + file.name;
    std::error_code error;
    const std::uintmax_t found = std::filesystem::file_size(path, error);
    if (error) throw internal_error("checkpoints", "{}: {}", path, error.message());
    if (found != static_cast<std::uintmax_t>(file.bytes)) {
      throw internal_error("checkpoints", "{}: found {} bytes, expected the {} that were written", path, found,
                           file.bytes);
    }
  }
}

}  // namespace

std::string make_temporary(const std::string& root, std::int64_t step, const Owner& owner) {
  owner.check();
  std::string path = root + "/" + temporary_name(step, owner.name);
  remove_tree(path);
  make_directory(path);
  return path;
}

void drop_temporary(const std::string& temporary) noexcept {
  try {
    remove_tree(temporary);
  } catch (const std::exception& error) {
    log::warning("{} (an unfinished checkpoint stays there until the next start)", error.what());
  }
}

Manifest make_manifest(const RunState& state, const SavePlan& plan, const std::vector<StoredFile>& files) {
  Manifest manifest{.state = state, .tensors = plan.tensors, .files = {}, .pieces = {}};
  const std::vector<std::vector<SavePlan::Piece>> writes = plan.writes();
  std::size_t count = 0;
  for (const std::vector<SavePlan::Piece>& of_file : writes) count += of_file.size();
  manifest.pieces.reserve(count);
  for (std::size_t r = 0; r < files.size(); ++r) {
    if (writes[r].empty()) continue;
    const auto file = static_cast<std::int32_t>(manifest.files.size());
    manifest.files.push_back(files[r]);
    for (const SavePlan::Piece& piece : writes[r]) {
      manifest.pieces.push_back({piece.tensor, file, piece.box});
    }
  }
  return manifest;
}

std::string write_manifest(const std::string& root, const Manifest& manifest, const Owner& owner) {
  owner.check();
  std::string temporary = root + "/" + temporary_name(manifest.state.step, owner.name);
  write_file(temporary + "/" + manifest_name, to_json(manifest));
  sync_directory(temporary);
  check_written(temporary, manifest);
  return temporary;
}

void commit(const std::string& root, std::int64_t step, const Owner& owner) {
  owner.check();
  replace_directory(root + "/" + temporary_name(step, owner.name), root + "/" + directory_name(step));
}

namespace {

WrittenManifest run(const std::string& root, const RunState& state, const std::shared_ptr<const SavePlan>& plan,
                    const std::vector<StoredFile>& files, const Owner& owner) {
  const auto start = std::chrono::steady_clock::now();
  const Manifest manifest = make_manifest(state, *plan, files);
  const std::string directory = write_manifest(root, manifest, owner);
  Verdicts::Files seen = Verdicts::look_at(directory, manifest.files);
  return {std::move(seen), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

}  // namespace

void BackgroundManifest::start(const std::string& root, const RunState& state,
                               const std::shared_ptr<const SavePlan>& plan, std::vector<StoredFile> files,
                               const Owner& owner) {
  const auto all_files = std::make_shared<const std::vector<StoredFile>>(std::move(files));
  running_ = in_background([root, state, plan, all_files, owner] { return run(root, state, plan, *all_files, owner); });
}

bool BackgroundManifest::is_done() const {
  return !running_.valid() || running_.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

}  // namespace octet::checkpoint

#include "checkpoints/restore/verification.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>

#include "checkpoints/format/hash.h"
#include "checkpoints/format/shard_file.h"
#include "checkpoints/restore/file_parts.h"
#include "checkpoints/restore/on_threads.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;
using Pieces = std::vector<const StoredPiece*>;
using Progressed = std::function<void(std::int64_t)>;

/// What is wrong with a file at first sight.
std::optional<Damage> glance(const std::string& directory, const StoredFile& file) {
  std::error_code error;
  const auto size = fs::file_size(fs::path(directory) / file.name, error);
  if (error) {
    const bool missing = error == std::errc::no_such_file_or_directory;
    return Damage{file.name, missing ? "is missing" : "cannot be read: " + error.message(),
                  missing ? ExitCode::usage : ExitCode::internal};
  }
  if (static_cast<std::int64_t>(size) == file.bytes) return std::nullopt;
  return Damage{file.name, fmt::format("has {} bytes, expected {}", size, file.bytes)};
}

/// What is wrong with the bytes of a file.
std::optional<Damage> inspect(const files::InputFile& input, const StoredFile& file, const Progressed& progress) {
  const StoredFile found = hash_file(input, file.name, progress);
  if (found.bytes == file.bytes && found.hash == file.hash) return std::nullopt;
  return Damage{file.name, fmt::format("{} bytes with hash {}, expected {} with {}", found.bytes, found.hash,
                                       file.bytes, file.hash)};
}

/// Where the data of these pieces lie in a file that has its hash. A file's hash proves that it is what was written;
/// this, that what was written is what the manifest says of it.
std::vector<StoredData> locate(const std::string& path, const Manifest& manifest, const Pieces& pieces) {
  static std::mutex one_at_a_time;  // HDF5 knows no threads
  const std::lock_guard lock(one_at_a_time);
  const ShardReader reader(path);
  reader.expect_state(manifest.state);
  std::vector<StoredData> found;
  found.reserve(pieces.size());
  for (const StoredPiece* piece : pieces) {
    found.push_back(reader.locate(*piece, manifest.tensors[static_cast<std::size_t>(piece->tensor)]));
  }
  return found;
}

std::vector<Damage> inspect_pieces(const std::string& path, const files::InputFile& input, const Manifest& manifest,
                                   const StoredFile& file, const Pieces& pieces, const Progressed& progress) {
  std::vector<Damage> damage;
  try {
    const std::vector<StoredData> data = locate(path, manifest, pieces);
    for (std::size_t p = 0; p < data.size(); ++p) {
      const std::string found = hash_data(input, data[p].offset, data[p].bytes, progress);
      if (found == data[p].hash) continue;
      const StoredTensor& tensor = manifest.tensors[static_cast<std::size_t>(pieces[p]->tensor)];
      const std::string dataset = dataset_name(tensor.name, pieces[p]->box);
      damage.push_back({file.name, fmt::format("dataset {}: data of hash {}, its attribute xxh3_128 says {}", dataset,
                                               found, data[p].hash)});
    }
  } catch (const Error& error) {
    damage.push_back({file.name, error.what(), error.code()});
  }
  return damage;
}

/// Everything about one file; its pieces while the kernel still has it in memory. Of a `plain` one its bytes alone.
std::vector<Damage> examine(const std::string& directory, const Manifest& manifest, const StoredFile& file,
                            const Pieces& pieces, bool plain, const Progressed& progress) {
  const std::string path = directory + "/" + file.name;
  if (auto seen = glance(directory, file)) return {*seen};
  try {
    const files::InputFile input(path);
    if (auto wrong = inspect(input, file, progress)) return {*wrong};
    return plain ? std::vector<Damage>() : inspect_pieces(path, input, manifest, file, pieces, progress);
  } catch (const std::exception& error) {
    return {Damage{file.name, error.what(), ExitCode::internal}};
  }
}

/// Those of used tensors, by file.
std::vector<Pieces> pieces_of(const Manifest& manifest, const TensorChoice& used) {
  std::vector<bool> is_used(manifest.tensors.size(), true);
  if (used) std::transform(manifest.tensors.begin(), manifest.tensors.end(), is_used.begin(), used);
  std::vector<Pieces> by_file(manifest.files.size());
  for (const StoredPiece& piece : manifest.pieces) {
    if (is_used[static_cast<std::size_t>(piece.tensor)])
      by_file[static_cast<std::size_t>(piece.file)].push_back(&piece);
  }
  return by_file;
}

}  // namespace

std::vector<Damage> find_damage(const std::string& directory, const Manifest& manifest, int threads,
                                const std::function<void(std::int64_t)>& progress, const TensorChoice& used) {
  const std::vector<Pieces> pieces = pieces_of(manifest, used);
  std::vector<std::vector<Damage>> damage(pieces.size());
  std::atomic<std::int64_t> done = 0;
  const auto examine_one = [&](std::size_t i, const std::stop_token& stop) {
    const bool plain = pieces[i].empty() && (used || manifest.version >= format_version_with_files);
    damage[i] = examine(directory, manifest, manifest.files[i], pieces[i], plain, [&](std::int64_t bytes) {
      done += bytes;
      if (stop.stop_requested()) throw files::ReadStopped{};
    });
  };
  on_threads(damage.size(), threads, examine_one, [&] {
    if (progress) progress(done.exchange(0));
  });
  std::vector<Damage> found;
  for (auto& of_file : damage) std::ranges::move(of_file, std::back_inserter(found));
  return found;
}

std::int64_t bytes_to_verify(const Manifest& manifest, const TensorChoice& used) {
  std::int64_t bytes = 0;
  for (const StoredTensor& tensor : manifest.tensors) {
    if (!used || used(tensor)) bytes += bytes_of(tensor, whole(tensor.shape));
  }
  for (const StoredFile& file : manifest.files) bytes += file.bytes;
  return bytes;
}

std::vector<Damage> find_missing(const std::string& directory, const std::vector<StoredFile>& files) {
  std::vector<Damage> found;
  for (const StoredFile& file : files) {
    if (auto seen = glance(directory, file)) found.push_back(std::move(*seen));
  }
  return found;
}

Verdicts::Files Verdicts::look_at(const std::string& directory, const std::vector<StoredFile>& files) {
  Files found{{manifest_name, files::identity_of(directory + "/" + manifest_name)}};
  for (const StoredFile& file : files) found[file.name] = files::identity_of(directory + "/" + file.name);
  return found;
}

std::optional<bool> Verdicts::find(const std::string& directory) const {
  const auto known = known_.find(directory);
  if (known == known_.end()) return std::nullopt;
  const Verdict& verdict = known->second;
  const bool same = std::ranges::all_of(
      verdict.files, [&](const auto& file) { return file.second == files::identity_of(directory + "/" + file.first); });
  return same ? std::optional(verdict.whole) : std::nullopt;
}

}  // namespace octet::checkpoint

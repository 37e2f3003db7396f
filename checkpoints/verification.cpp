#include "checkpoints/verification.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "checkpoints/shard_file.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;

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
std::optional<Damage> inspect(const std::string& directory, const StoredFile& file,
                              const std::function<void(std::int64_t)>& progress) {
  if (auto seen = glance(directory, file)) return seen;
  try {
    const StoredFile found = hash_file(directory + "/" + file.name, progress);
    if (found.bytes == file.bytes && found.hash == file.hash) return std::nullopt;
    return Damage{file.name, fmt::format("{} bytes with hash {}, expected {} with {}", found.bytes, found.hash,
                                         file.bytes, file.hash)};
  } catch (const Error& error) {
    return Damage{file.name, error.what(), ExitCode::internal};
  } catch (const std::exception& error) {
    return Damage{file.name, error.what(), ExitCode::internal};
  }
}

/// Runs work(i) for i below n on some threads, while the calling thread hands the bytes that `done` counts to progress.
void on_threads(std::size_t n, int threads, const std::function<void(std::size_t)>& work,
                std::atomic<std::int64_t>& done, const std::function<void(std::int64_t)>& progress) {
  std::atomic<std::size_t> next = 0;
  std::size_t finished = 0;
  std::mutex mutex;  // of `finished`
  std::condition_variable all_finished;
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < n; i = next++) {
      work(i);
      const std::lock_guard lock(mutex);
      if (++finished == n) all_finished.notify_one();
    }
  };
  std::vector<std::jthread> pool;  // joins when it goes
  for (std::size_t t = 0; t < std::min(n, static_cast<std::size_t>(std::max(1, threads))); ++t) {
    pool.emplace_back(take_turns);
  }
  std::unique_lock lock(mutex);
  while (!all_finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return finished == n; })) {
    if (progress) progress(done.exchange(0));
  }
  if (progress) progress(done.exchange(0));
}

/// A file's hash proves that it is what was written; this, that what was written is what the manifest says of it.
void look_for_pieces(const std::string& directory, const Manifest& manifest,
                     std::vector<std::optional<Damage>>& damage) {
  std::vector<std::vector<const StoredPiece*>> by_file(manifest.files.size());
  for (const StoredPiece& piece : manifest.pieces) by_file[static_cast<std::size_t>(piece.file)].push_back(&piece);
  const std::array<Shape, Shape::max_rank + 1> ones = {Shape{}, {1}, {1, 1}, {1, 1, 1}, {1, 1, 1, 1}};
  std::array<char, 16> element{};
  for (std::size_t f = 0; f < by_file.size(); ++f) {
    if (damage[f]) continue;
    try {
      const ShardReader reader(directory + "/" + manifest.files[f].name);
      for (const StoredPiece* piece : by_file[f]) {
        const Box first{{}, ones[static_cast<std::size_t>(piece->box.extent.rank())]};
        reader.read(*piece, manifest.tensors[static_cast<std::size_t>(piece->tensor)].dtype, first, element.data());
      }
    } catch (const Error& error) {
      damage[f] = Damage{manifest.files[f].name, error.what(), error.code()};
    }
  }
}

}  // namespace

std::vector<Damage> find_damage(const std::string& directory, const Manifest& manifest, int threads,
                                const std::function<void(std::int64_t)>& progress) {
  std::vector<std::optional<Damage>> damage(manifest.files.size());
  std::atomic<std::int64_t> done = 0;
  on_threads(
      damage.size(), threads,
      [&](std::size_t i) {
        damage[i] = inspect(directory, manifest.files[i], [&](std::int64_t bytes) { done += bytes; });
      },
      done, progress);
  look_for_pieces(directory, manifest, damage);
  std::vector<Damage> found;
  for (auto& d : damage) {
    if (d) found.push_back(std::move(*d));
  }
  return found;
}

std::vector<Damage> find_missing(const std::string& directory, const Manifest& manifest) {
  std::vector<Damage> found;
  for (const StoredFile& file : manifest.files) {
    if (auto seen = glance(directory, file)) found.push_back(std::move(*seen));
  }
  return found;
}

}  // namespace octet::checkpoint

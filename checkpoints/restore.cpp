#include "checkpoints/restore.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <system_error>

#include "checkpoints/agreement.h"
#include "checkpoints/packing.h"
#include "checkpoints/shard_file.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/comm/host_exchange.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;

/// Which files each rank hashes: the largest first, each to the rank with the least so far.
std::vector<std::vector<std::size_t>> share_files(const std::vector<StoredFile>& files, int ranks) {
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return files[i].bytes; });
  std::vector<std::vector<std::size_t>> shares(static_cast<std::size_t>(ranks));
  std::vector<std::int64_t> loads(shares.size());
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(loads);
    *least += std::max<std::int64_t>(files[i].bytes, 1);
    shares[static_cast<std::size_t>(least - loads.begin())].push_back(i);
  }
  return shares;
}

/// One that cannot be looked at must not pass for one that is not there: an older one would be taken in silence.
bool is_directory(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::status_known(status)) return fs::is_directory(status);
  throw internal_error("checkpoints", "{}: cannot be read: {}", path, error.message());
}

/// What is wrong with a file of a checkpoint; empty when nothing is.
std::string judge_file(const std::string& directory, const StoredFile& expected) {
  const std::string path = directory + "/" + expected.name;
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) return fmt::format("{}: {}", path, error.message());
  if (bytes != static_cast<std::uintmax_t>(expected.bytes)) {  // no need to read it all
    return fmt::format("{}: found {} bytes, expected {}", path, bytes, expected.bytes);
  }
  try {
    const StoredFile found = hash_file(path);
    if (found.hash == expected.hash && found.bytes == expected.bytes) return {};
    return fmt::format("{}: found hash {}, expected {}", path, found.hash, expected.hash);
  } catch (const std::exception& failure) {
    return failure.what();
  }
}

/// Rank 0 reads the manifest, the others get it from there: one reader, and one opinion of what it says.
std::optional<std::string> share_manifest(const std::string& directory, Manifest& manifest, Communicator& world) {
  Packer packer;
  if (world.rank() == 0) {
    const std::optional<Failure> failure = failure_of([&] {
      manifest = read_manifest(directory);
      const std::optional<std::int64_t> named = step_of(directory);
      if (named && *named != manifest.state.step) {
        throw usage_error("checkpoints", "{}: its manifest is of step {}", directory, manifest.state.step);
      }
    });
    packer.put(static_cast<std::uint8_t>(failure.has_value()));
    packer.put(failure ? failure->text : to_json(manifest));
  }
  const std::string message = broadcast_bytes(packer.bytes(), 0, world);
  Unpacker unpacker(message);
  const bool failed = unpacker.take<std::uint8_t>() != 0;
  const std::string text = unpacker.take_text();
  if (failed) return text;
  if (world.rank() != 0) manifest = parse_manifest(text, directory + "/" + manifest_name);
  return std::nullopt;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) {
    if (!part.empty() && !all.empty()) all += "; ";
    all += part;
  }
  return all;
}

/// The ranks together hash every file that the manifest lists.
std::optional<std::string> verify_files(const std::string& directory, const Manifest& manifest, Communicator& world) {
  std::vector<std::string> wrong;
  const std::vector<std::vector<std::size_t>> shares = share_files(manifest.files, world.size());
  for (const std::size_t i : shares[static_cast<std::size_t>(world.rank())]) {
    wrong.push_back(judge_file(directory, manifest.files[i]));
  }
  const std::string all = joined(gather_bytes(joined(wrong), world));
  return all.empty() ? std::nullopt : std::optional(all);
}

/// list_checkpoints on rank 0, for all.
std::vector<std::string> list_together(const std::string& root, Communicator& world) {
  Packer packer;
  together("checkpoints cannot be listed", world, [&] {
    if (world.rank() != 0) return;
    const std::vector<std::string> found = list_checkpoints(root);
    packer.put(static_cast<std::int64_t>(found.size()));
    for (const std::string& path : found) packer.put(path);
  });
  const std::string all = broadcast_bytes(packer.bytes(), 0, world);
  Unpacker unpacker(all);
  std::vector<std::string> paths(static_cast<std::size_t>(unpacker.take<std::int64_t>()));
  for (std::string& path : paths) path = unpacker.take_text();
  return paths;
}

}  // namespace

std::optional<std::int64_t> step_of(const std::string& directory) {
  const fs::path path(directory);
  const std::string name = path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
  constexpr std::string_view prefix = "step-";
  if (!name.starts_with(prefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data() + prefix.size(), end, step);
  // The name of that step and no other spelling of it, so that no step is there twice.
  if (error != std::errc() || last != end || step < 0 || directory_name(step) != name) return std::nullopt;
  return step;
}

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
    if (step && is_directory(path)) by_step[*step] = path;
  }
  if (error) throw internal_error("checkpoints", "{}: cannot be read: {}", root, error.message());
  std::vector<std::string> paths;
  paths.reserve(by_step.size());
  for (const auto& [step, path] : by_step) paths.push_back(path);
  return paths;
}

std::optional<std::string> verify(const std::string& directory, Manifest& manifest, Communicator& world) {
  if (auto wrong = share_manifest(directory, manifest, world)) return wrong;
  return verify_files(directory, manifest, world);
}

std::optional<Found> find_newest_valid(const std::string& root, Communicator& world) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::string> paths = list_together(root, world);
  std::string damages;
  double hash_seconds = 0;
  for (const std::string& path : paths) {
    Found found{.directory = path, .manifest = {}};
    std::optional<std::string> wrong = share_manifest(path, found.manifest, world);
    if (!wrong) {
      const auto hashing = std::chrono::steady_clock::now();
      wrong = verify_files(path, found.manifest, world);
      hash_seconds += seconds_since(hashing);
    }
    if (!wrong) {
      found.hash_seconds = hash_seconds;
      found.choose_seconds = seconds_since(begin) - hash_seconds;
      return found;
    }
    if (world.rank() == 0) log::error("checkpoint {} is DAMAGED and not used: {}", path, *wrong);
    damages += "\n  " + *wrong;
  }
  if (paths.empty()) return std::nullopt;
  throw usage_error("checkpoints", "{}: found {} checkpoint(s), none of them valid:{}", root, paths.size(), damages);
}

}  // namespace octet::checkpoint

#include "checkpoints/tools/offline_writer.h"

#include <filesystem>

#include "checkpoints/format/durable.h"
#include "checkpoints/format/hash.h"
#include "checkpoints/format/shard_file.h"
#include "checkpoints/restore/restore.h"
#include "src/base/error.h"
#include "src/base/read_file.h"
#include "src/tensor/shard.h"

namespace octet::checkpoint {
namespace {

/// More than the datasets: names, hashes and attributes, in files and manifest.
std::int64_t bytes_with_metadata(const std::vector<StoredTensor>& tensors, std::size_t parts) {
  return bytes_of(tensors) + static_cast<std::int64_t>(parts) * 2048 + (std::int64_t{1} << 20);
}

std::size_t count_parts(const std::vector<std::vector<Part>>& plan) {
  std::size_t n = 0;
  for (const auto& parts : plan) n += parts.size();
  return n;
}

/// Writes one file and adds it and its pieces to the manifest.
void write_file_of(const std::string& folder, int writer, const std::vector<Part>& parts, const PartSource& source,
                   const ByteProgress& progress, Manifest& manifest) {
  std::vector<PieceData> pieces;
  for (const Part& part : parts) {
    const StoredTensor& tensor = manifest.tensors[static_cast<std::size_t>(part.tensor)];
    pieces.push_back({tensor, part.box, nullptr, [&, bytes = bytes_of(tensor, part.box)] {
                        const void* data = source(part);
                        if (progress) progress(bytes);
                        return data;
                      }});
  }
  StoredFile file = write_shard_file(folder + "/" + file_name(writer), manifest.state, pieces);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    manifest.pieces.push_back({parts[i].tensor, static_cast<std::int32_t>(manifest.files.size()), parts[i].box});
  }
  manifest.files.push_back(std::move(file));
}

bool is_run(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / "config.yaml", error) ||
         std::filesystem::exists(folder / "submitted.yaml", error);
}

/// In a run's folder for checkpoints another name is one that no run takes. Where there is no run yet, a name that
/// means to be a step's is taken for one that shall be; other folders called checkpoints are somebody's archive.
void check_name(const std::string& directory, std::int64_t step) {
  namespace fs = std::filesystem;
  const auto named = step_of(directory);
  if (named && *named != step) {
    throw usage_error("checkpoints", "{}: this is a checkpoint of step {}; expected {} or a name of another form",
                      directory, step, directory_name(step));
  }
  fs::path path = fs::absolute(directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // a slash at the end
  const fs::path folder = path.parent_path();
  const bool means_step = path.filename().string().starts_with(step_prefix);
  if (!named && folder.filename() == "checkpoints" && (means_step || is_run(folder.parent_path()))) {
    throw usage_error("checkpoints",
                      "{}: no run finds a checkpoint of that name in its folder checkpoints; expected {}", directory,
                      (folder / directory_name(step)).string());
  }
}

}  // namespace

std::vector<std::vector<Part>> plan_writers(const std::vector<StoredTensor>& tensors, int writers, std::int64_t most) {
  std::vector<std::vector<Part>> plan(static_cast<std::size_t>(writers));
  for (int w = 0; w < writers; ++w) {
    auto& parts = plan[static_cast<std::size_t>(w)];
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const Shard shard = Shard::of(tensors[t].shape, w, writers);
      const auto mine = row_parts(tensors[t], static_cast<std::int32_t>(t), shard.offset, shard.rows, most);
      parts.insert(parts.end(), mine.begin(), mine.end());
    }
  }
  return plan;
}

int writers_by_size(std::int64_t bytes) {
  constexpr std::int64_t most_in_file = std::int64_t{16} << 30;
  constexpr int most_writers = OpenShards::enough;
  int writers = 1;
  while (writers < most_writers && bytes > writers * most_in_file) writers *= 2;
  return writers;
}

Manifest write_checkpoint(const std::string& directory, const RunState& state, const std::vector<StoredTensor>& tensors,
                          const std::vector<std::vector<Part>>& plan, const PartSource& source,
                          const ByteProgress& progress, const std::vector<PlainFile>& plain) {
  check_name(directory, state.step);
  std::int64_t needed = bytes_with_metadata(tensors, count_parts(plan));
  for (const PlainFile& file : plain) needed += std::ssize(file.bytes);
  PendingDirectory pending(directory, needed);
  Manifest manifest;
  manifest.version = plain.empty() ? format_version : format_version_with_files;
  manifest.state = state;
  manifest.tensors = tensors;
  for (std::size_t w = 0; w < plan.size(); ++w) {
    // More writers than rows leave some of them without anything to write.
    if (plan[w].empty()) continue;
    write_file_of(pending.temporary(), static_cast<int>(w), plan[w], source, progress, manifest);
  }
  for (const PlainFile& file : plain) {
    write_file(pending.temporary() + "/" + file.name, file.bytes);
    manifest.files.push_back({file.name, std::ssize(file.bytes), hash_of(file.bytes)});
  }
  check_coverage(manifest, directory);
  write_file(pending.temporary() + "/" + manifest_name, to_json(manifest));
  pending.commit();
  return manifest;
}

Manifest reshard(const std::string& from, const Manifest& manifest, const std::string& to, int writers,
                 const ByteProgress& progress) {
  const auto plan = plan_writers(manifest.tensors, writers);
  std::vector<Part> in_order;
  for (const auto& parts : plan) in_order.insert(in_order.end(), parts.begin(), parts.end());
  PartReader reader(from, manifest, std::move(in_order));
  std::vector<PlainFile> plain;
  for (const std::string& name : plain_files(manifest))
    plain.push_back({name, files::read_file(fmt::format("{}/{}", from, name))});
  return write_checkpoint(
      to, manifest.state, manifest.tensors, plan, [&](const Part&) { return reader.next(); }, progress, plain);
}

}  // namespace octet::checkpoint

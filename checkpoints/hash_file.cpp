#include "checkpoints/hash_file.h"

#include "checkpoints/hash.h"

namespace octet::checkpoint {
namespace {

/// `found`: bytes that there were.
std::string hash_range(const InputFile& file, const FileRange& range, const std::function<void(std::int64_t)>& progress,
                       std::int64_t& found) {
  Hasher hasher;
  const auto add = [&](std::span<const char> block) {
    hasher.add(block.data(), block.size());
    if (progress) progress(static_cast<std::int64_t>(block.size()));
  };
  found = file.read_blocks(add, range);
  return hasher.hex();
}

}  // namespace

StoredFile hash_file(const InputFile& input, const std::string& name,
                     const std::function<void(std::int64_t)>& progress) {
  StoredFile file;
  file.name = name;
  file.hash = hash_range(input, {}, progress, file.bytes);
  return file;
}

StoredFile hash_file(const std::string& path, const std::function<void(std::int64_t)>& progress) {
  return hash_file(InputFile(path), path.substr(path.rfind('/') + 1), progress);
}

std::string hash_data(const InputFile& input, std::int64_t offset, std::int64_t bytes,
                      const std::function<void(std::int64_t)>& progress) {
  return hash_range(input, {offset, bytes}, progress, bytes);
}

}  // namespace octet::checkpoint

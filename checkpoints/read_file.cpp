#include "checkpoints/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "checkpoints/hash.h"
#include "checkpoints/shard_file.h"
#include "src/base/error.h"
#include "src/base/file_handle.h"

namespace octet::checkpoint {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;  // stays in a cache between read and hash

/// `found`: bytes that there were.
std::string hash_range(const std::string& path, const FileRange& range,
                       const std::function<void(std::int64_t)>& progress, std::int64_t& found) {
  Hasher hasher;
  const auto add = [&](std::span<const char> block) {
    hasher.add(block.data(), block.size());
    if (progress) progress(static_cast<std::int64_t>(block.size()));
  };
  found = read_blocks(path, add, range);
  return hasher.hex();
}

}  // namespace

std::int64_t read_blocks(const std::string& path, const std::function<void(std::span<const char>)>& each,
                         const FileRange& range) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw usage_error("checkpoints", "cannot open {}: {}", path, std::strerror(errno));
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  const auto block = std::make_unique_for_overwrite<char[]>(block_bytes);
  for (std::int64_t bytes = 0;;) {
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(block_bytes, range.bytes - bytes));
    const ssize_t got = ::pread(file.get(), block.get(), most, range.offset + bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw internal_error("checkpoints", "cannot read {}: {}", path, std::strerror(errno));
    if (got == 0) return bytes;
    each({block.get(), static_cast<std::size_t>(got)});
    bytes += got;
  }
}

std::string read_file(const std::string& path) {
  std::string text;
  read_blocks(path, [&](std::span<const char> block) { text.append(block.data(), block.size()); });
  return text;
}

StoredFile hash_file(const std::string& path, const std::function<void(std::int64_t)>& progress) {
  StoredFile file;
  file.name = path.substr(path.rfind('/') + 1);
  file.hash = hash_range(path, {}, progress, file.bytes);
  return file;
}

std::string hash_data(const std::string& path, std::int64_t offset, std::int64_t bytes,
                      const std::function<void(std::int64_t)>& progress) {
  return hash_range(path, {offset, bytes}, progress, bytes);
}

}  // namespace octet::checkpoint

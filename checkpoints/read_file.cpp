#include "checkpoints/read_file.h"

#include <fcntl.h>
#include <unistd.h>

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

}  // namespace

std::int64_t read_blocks(const std::string& path, const std::function<void(std::span<const char>)>& each) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw usage_error("checkpoints", "cannot open {}: {}", path, std::strerror(errno));
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  const auto block = std::make_unique_for_overwrite<char[]>(block_bytes);
  for (std::int64_t bytes = 0;;) {
    const ssize_t got = ::read(file.get(), block.get(), block_bytes);
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
  Hasher hasher;
  StoredFile file;
  file.name = path.substr(path.rfind('/') + 1);
  file.bytes = read_blocks(path, [&](std::span<const char> block) {
    hasher.add(block.data(), block.size());
    if (progress) progress(static_cast<std::int64_t>(block.size()));
  });
  file.hash = hasher.hex();
  return file;
}

}  // namespace octet::checkpoint

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>

namespace octet::checkpoint {

/// A part of a file, of which it may have less; by default all of it.
struct FileRange {
  std::int64_t offset = 0;
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
};

/// Calls `each` with the blocks of a file in order, at most 1 MiB each, and returns how many bytes there were. Throws a
/// usage error when the file cannot be opened and an internal error when it cannot be read, with path and reason.
std::int64_t read_blocks(const std::string& path, const std::function<void(std::span<const char>)>& each,
                         const FileRange& range = {});

/// All of a small file. Errors as above.
std::string read_file(const std::string& path);

}  // namespace octet::checkpoint

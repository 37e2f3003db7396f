#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace octet::checkpoint {

/// Calls `each` with the blocks of a file in order, at most 1 MiB each, and returns its size. Throws a usage error when
/// the file cannot be opened and an internal error when it cannot be read, with path and reason.
std::int64_t read_blocks(const std::string& path, const std::function<void(std::span<const char>)>& each);

/// All of a small file. Errors as above.
std::string read_file(const std::string& path);

}  // namespace octet::checkpoint

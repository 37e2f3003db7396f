#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "src/base/file_handle.h"

namespace octet::checkpoint {

/// A part of a file, of which it may have less; by default all of it.
struct FileRange {
  std::int64_t offset = 0;
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
};

/// What tells a file from another one of the same name, and from what it was before a change, without reading it.
struct FileIdentity {
  std::int64_t bytes = 0;
  std::int64_t changed = 0;  ///< mtime, nanoseconds
  std::uint64_t device = 0, inode = 0;

  bool operator==(const FileIdentity&) const = default;
};
/// Of what is there under that name now; nothing where that cannot be looked at.
std::optional<FileIdentity> identity_of(const std::string& path);

/// A file to read, opened once: whatever happens to its name meanwhile, this is one file.
class InputFile {
 public:
  /// Throws a usage error with path and reason when it cannot be opened.
  explicit InputFile(std::string path);
  /// `file` is open under that name; it stays open.
  InputFile(std::string path, int file) : path_(std::move(path)), file_(file) {}

  /// Bytes; internal error where the file cannot be looked at.
  std::int64_t size() const;
  /// Calls `each` with the blocks of the file in order, at most 1 MiB each, and returns how many bytes there were.
  /// Throws an internal error with path and reason when it cannot be read.
  std::int64_t read_blocks(const std::function<void(std::span<const char>)>& each, const FileRange& range = {}) const;

 private:
  std::string path_;
  FileHandle own_;
  int file_ = -1;
};

/// All of a small file. Errors as above.
std::string read_file(const std::string& path);

}  // namespace octet::checkpoint

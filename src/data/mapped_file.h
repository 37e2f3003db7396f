#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace octet {

/// Throws what errno `error` says of a file or folder of token data: a usage error, "cannot WHAT PATH: REASON", where
/// the path leads to nothing, or to what this user may not read; files::ReadError (src/base/read_file.h) where the file
/// system does not give it otherwise (EIO, ESTALE ...).
[[noreturn]] void throw_not_given(const char* what, const std::string& path, int error);

/// A whole file mapped read-only. Usage error when it is not a regular file; else throws as throw_not_given. A page
/// that cannot be read, as behind the new end of a file that shrank, ends the process; a run tells the file's name
/// (src/base/mapped_regions.h).
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept : bytes_(other.bytes_), region_(other.region_) {
    other.bytes_ = {};
    other.region_ = -1;
  }
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  std::span<const std::uint8_t> bytes_;
  int region_ = -1;  ///< entry of mapped_regions
};

}  // namespace octet

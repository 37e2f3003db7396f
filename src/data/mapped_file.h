#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace octet {

/// A whole file mapped read-only. Usage error when it cannot be opened or is not a regular file. The file must not
/// shrink while it is mapped (reading a page behind the new end ends the process).
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace octet

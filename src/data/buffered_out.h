#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/files.h"

namespace octet {

inline void write_or_throw(int file, const std::vector<std::uint8_t>& bytes, const std::string& path) {
  if (!write_all(file, bytes.data(), bytes.size())) throw not_written("data", path);
}

/// Collects small values for one file, so that an index of a billion sequences needs no second copy in memory.
class BufferedOut {
 public:
  /// The path is for messages and has to outlive it.
  BufferedOut(int file, const std::string& path) : file_(file), path_(path) { buffer_.reserve(buffer_bytes); }
  template <typename T>
  void put(const T& value) {
    if (buffer_.size() + sizeof value > buffer_bytes) flush();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    buffer_.insert(buffer_.end(), bytes, bytes + sizeof value);
  }
  void flush() {
    write_or_throw(file_, buffer_, path_);
    buffer_.clear();
  }

 private:
  static constexpr std::size_t buffer_bytes = 1 << 20;

  int file_;
  const std::string& path_;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace octet

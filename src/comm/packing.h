#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "src/base/error.h"

namespace octet {

/// Values laid end to end in a string of bytes, for an exchange between ranks of one job (no format of files).
class Packer {
 public:
  /// Numbers, enums and texts.
  template <typename... Values>
  Packer& put(const Values&... values) {
    (add(values), ...);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void add(T value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    bytes_.append(text);
  }

  std::string bytes_;
};

/// Takes them out again in the same order, and says with expect_end() that this was all. The bytes must outlive it.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> T take() {
    T value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  std::string take_text() { return std::string(next(static_cast<std::size_t>(take<std::int64_t>()))); }
  /// Internal error where something is left: whoever packed it has packed something else.
  void expect_end() const {
    if (!rest_.empty()) throw internal_error("comm", "a message between ranks has {} bytes too many", rest_.size());
  }

 private:
  std::string_view next(std::size_t bytes) {
    if (bytes > rest_.size()) {  // a length below 0 is a large one here
      throw internal_error("comm", "a message between ranks ends after {} of {} bytes", rest_.size(), bytes);
    }
    const std::string_view part = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return part;
  }

  std::string_view rest_;
};

}  // namespace octet

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace octet {

/// Goes over the fields of a message of protocol buffers (protobuf.dev, "Encoding").
class WireReader {
 public:
  struct Field {
    std::uint32_t number = 0;
    int type = 0;              ///< 0: a number, 1 and 5: fixed bytes, 2: bytes
    std::uint64_t value = 0;   ///< of a number
    std::string_view bytes{};  ///< of the others
  };

  explicit WireReader(std::string_view bytes) : left_(bytes) {}

  /// The next field; nothing at the end, or where what comes is none.
  std::optional<Field> next();
  /// Says whether all was read.
  bool done() const { return left_.empty(); }

 private:
  std::optional<std::uint64_t> number();
  std::optional<std::string_view> take(std::uint64_t bytes);

  std::string_view left_;
};

}  // namespace octet

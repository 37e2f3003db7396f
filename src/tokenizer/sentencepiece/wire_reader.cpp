#include "src/tokenizer/sentencepiece/wire_reader.h"

namespace octet {

std::optional<std::uint64_t> WireReader::number() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10 && i < left_.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(left_[i]);
    value |= std::uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte < 0x80) {
      left_.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> WireReader::take(std::uint64_t bytes) {
  if (bytes > left_.size()) return std::nullopt;
  const std::string_view taken = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return taken;
}

std::optional<WireReader::Field> WireReader::next() {
  const auto tag = number();
  if (!tag || *tag >> 3 == 0 || *tag >> 3 >= 1u << 29) return std::nullopt;
  Field field{.number = static_cast<std::uint32_t>(*tag >> 3), .type = static_cast<int>(*tag & 7)};
  std::uint64_t size = 0;
  if (field.type == 0 || field.type == 2) {
    const auto read = number();
    if (!read) return std::nullopt;
    if (field.type == 0) {
      field.value = *read;
      return field;
    }
    size = *read;
  } else if (field.type == 1 || field.type == 5) {
    size = field.type == 1 ? 8 : 4;
  } else {
    return std::nullopt;  // groups, which nobody writes any more
  }
  const auto bytes = take(size);
  if (!bytes) return std::nullopt;
  field.bytes = *bytes;
  return field;
}

}  // namespace octet

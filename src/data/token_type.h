#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace octet {

/// How a token is stored; the values are the dtype codes of Megatron's .idx files.
enum class TokenType : std::uint8_t { u8 = 1, i32 = 4, u16 = 8 };

constexpr std::int64_t size_of(TokenType type) {
  return type == TokenType::u8 ? 1 : type == TokenType::u16 ? 2 : 4;
}

constexpr std::string_view name_of(TokenType type) {
  return type == TokenType::u8 ? "uint8" : type == TokenType::u16 ? "uint16" : "int32";
}

/// The narrowest type that holds ids below vocab_size. Megatron itself starts at uint16; it reads all three.
constexpr TokenType token_type_for(std::int64_t vocab_size) {
  return vocab_size <= 256 ? TokenType::u8 : vocab_size <= 65536 ? TokenType::u16 : TokenType::i32;
}

/// The .idx file of Megatron's indexed datasets (megatron/core/datasets/indexed_dataset.py), little-endian, unaligned:
///   char[9] magic; u64 version = 1; u8 dtype code; u64 sequences; u64 documents + 1;
///   i32 size in tokens [sequences]; i64 offset in bytes in the .bin [sequences];
///   i64 first sequence of the document [documents], and the number of sequences.
/// The .bin file is the tokens, nothing else.
namespace megatron_index {
inline constexpr std::array<char, 9> magic = {'M', 'M', 'I', 'D', 'I', 'D', 'X', '\0', '\0'};
inline constexpr std::uint64_t version = 1;
inline constexpr std::int64_t header_bytes = 9 + 8 + 1 + 8 + 8;
}  // namespace megatron_index

/// An unaligned value; Octet runs on little-endian machines only.
template <typename T>
T load_unaligned(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace octet

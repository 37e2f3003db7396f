#pragma once

#include <string_view>

namespace octet {

// Patterns that no tokenizer.json spells out, in Oniguruma's syntax.

/// The pattern of GPT-2, by which ByteLevel cuts with use_regex; r50k_base and p50k_base have it too.
inline constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// The pattern of OpenAI's o200k_base.
inline constexpr std::string_view o200k_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Digits asks Rust what a number is, which in tokenizers 0.23.3 has Unicode 17.0: 13 characters more than 16.0.
inline constexpr std::string_view digit_pattern = R"([\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}])";
inline constexpr std::string_view digits_pattern = R"([\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}]+)";

}  // namespace octet

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tokenizer/tokenizer.h"

namespace octet {

/// What belongs to a rank file and does not stand in it, of the encodings that many use.
struct KnownEncoding {
  std::string_view name;
  std::int32_t ranks = 0;      ///< lines of its file, by which it is known
  std::int32_t end = 0;        ///< the least id above all of them
  std::string_view pattern{};  ///< empty: that of Llama 3
  std::vector<SpecialToken> special{};
  std::optional<std::int32_t> bos{};
  std::int32_t eos = 0;
};

/// The encoding whose file has so many ranks, below `end`, if it is known: OpenAI's r50k_base, p50k_base, cl100k_base
/// and o200k_base (tiktoken's openai_public.py), and Meta's of Llama 3.
std::optional<KnownEncoding> known_encoding(std::int32_t ranks, std::int32_t end);

}  // namespace octet

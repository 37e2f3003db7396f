#pragma once

#include <array>
#include <cstdint>

#include "src/tokenizer/bpe/pair_table.h"
#include "src/tokenizer/bpe/token_table.h"

namespace octet {

inline constexpr std::int32_t no_token = -1;

/// A byte-level BPE vocabulary.
struct BpeModel {
  TokenTable tokens;
  PairTable merges;
  std::array<std::int32_t, 256> byte_ids{};  ///< no_token: the byte is left out of a text, if it has it at all
  bool whole_first = false;                  ///< a word that is a token is that token, whatever the merges make of it
};

}  // namespace octet

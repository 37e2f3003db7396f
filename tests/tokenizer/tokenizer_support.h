#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "src/tokenizer/make_tokenizer.h"
#include "tests/data/support.h"

namespace octet::test {

using Ids = std::vector<std::int32_t>;

inline std::string golden_file(const std::string& name) {
  return OCTET_SOURCE_DIR "/tests/tokenizer/golden/" + name;
}

inline Ids ids_of(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids;
  tokenizer.make_encoder()->encode(text, ids);
  return ids;
}

/// A text of up to `most` parts that patterns and tokens tell apart.
inline std::string odd_text(std::mt19937& random, std::size_t most) {
  static const std::vector<std::string> parts = {"a",
                                                 "Z",
                                                 "'",
                                                 "s",
                                                 "re",
                                                 "the",
                                                 "\n",
                                                 "\r",
                                                 " ",
                                                 "  ",
                                                 "\t",
                                                 "7",
                                                 "123",
                                                 ".",
                                                 "<|",
                                                 "|>",
                                                 "\u00A0",
                                                 "\u4E2D",
                                                 "\u0301",
                                                 "\u0440",
                                                 "\u0663",
                                                 "\U0001F600",
                                                 "<|end_of_text|>",
                                                 "\u017F",
                                                 "-"};
  std::string text;
  for (std::size_t n = random() % most; n > 0; --n) text += parts[random() % parts.size()];
  return text;
}

}  // namespace octet::test

#pragma once

#include <string>
#include <vector>

#include "src/tokenizer/tokenizer.h"

namespace octet {

/// The text of tokens that come one by one, in whole characters of UTF-8: what a token leaves half is told with the one
/// that ends it. Bytes that are no UTF-8 come as U+FFFD.
class TextStream {
 public:
  /// `before`: the token that the first one stands behind, which is not told; some tokenizers need it to know of a
  /// space. One that the tokenizer lacks has no text.
  TextStream(const Tokenizer& tokenizer, std::int32_t before) : tokenizer_(tokenizer) {
    if (before < tokenizer.info().vocab_size) told_.push_back(before);
  }

  /// The text that this token completes, which may be none.
  std::string add(std::int32_t token);
  /// The rest, half as it is.
  std::string finish();

 private:
  std::string text_of_pending() const;
  std::string tell(std::string text);

  const Tokenizer& tokenizer_;
  std::vector<std::int32_t> told_;  ///< the last tokens whose text was returned
  std::vector<std::int32_t> pending_;
};

}  // namespace octet

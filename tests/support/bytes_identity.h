#pragma once

#include "src/data/tokenizer_identity.h"

namespace octet::test {

/// Of the tokenizer "bytes": 256 ids, and id 0 ends a document.
inline TokenizerIdentity bytes_tokenizer_identity() {
  return {.kind = TokenizerKind::bytes, .vocab_size = 256, .eos = 0};
}

}  // namespace octet::test

#pragma once

#include <memory>

#include "src/tokenizer/tokenizer.h"

namespace octet {

/// The id of a byte is the byte (vocabulary 256), eos is 0, and there is no bos.
std::unique_ptr<Tokenizer> make_bytes_tokenizer();

}  // namespace octet

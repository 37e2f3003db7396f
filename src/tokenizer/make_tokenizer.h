#pragma once

#include <memory>
#include <string>

#include "src/tokenizer/tokenizer.h"

namespace octet {

/// A tokenizer by name; a usage error lists the known names.
///   bytes   the id is the byte (vocabulary 256). The end of a document is id 0, so text with a NUL byte is refused.
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name);

}  // namespace octet

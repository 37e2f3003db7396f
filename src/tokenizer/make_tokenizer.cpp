#include "src/tokenizer/make_tokenizer.h"

#include "src/base/error.h"
#include "src/tokenizer/bytes.h"

namespace octet {

std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name) {
  if (name == "bytes") return make_bytes_tokenizer();
  throw usage_error("tokenizer", "unknown tokenizer \"{}\"; known: bytes", name);
}

}  // namespace octet

// Token files: the index and the tokens of one data set, either of them changed.
#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "src/data/token_file.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

std::string golden(const std::string& name) {
  return source_file("tests/data/golden/" + name);
}

void read_tokens(const std::string& idx, const std::string& bin) {
  put("input.idx", idx);
  const TokenFile file(put("input.bin", bin));
  file.fingerprint();
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(std::min<std::int64_t>(file.tokens(), 4096)));
  file.read(0, tokens, 256);
  for (std::int64_t d = 0; d < std::min<std::int64_t>(file.documents(), 64); ++d) {
    const std::int64_t begin = file.document_begin(d), count = file.document_tokens(d);
    if (begin < 0 || count < 0 || begin + count > file.tokens()) throw std::logic_error("a document beyond the file");
  }
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::string bin = golden("bytes.bin"), idx = golden("bytes.idx");
  static const std::vector<Reader> all = {
      {"idx", [](const std::string& text) { read_tokens(text, bin); }, texts({idx})},
      {"tokens", [](const std::string& text) { read_tokens(idx, text); }, texts({bin})},
  };
  return all;
}

}  // namespace octet::fuzz

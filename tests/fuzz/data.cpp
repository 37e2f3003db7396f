// Token files: the index and the tokens of one data set, either of them changed.
#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "src/data/data_facts.h"
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

/// The unchanged data set.
TokenFile good_file() {
  put("good.idx", golden("bytes.idx"));
  return TokenFile(put("good.bin", golden("bytes.bin")));
}

/// The side file of a data set, of which only this one is true.
void read_side_file(const std::string& text) {
  static const TokenFile file = good_file();
  const auto facts = read_data_facts(put("input.data.json", text), file);
  if (!facts) return;
  expect_in_vocabulary(file, facts->range, 256);
  if (read_data_facts(put("again.data.json", data_facts_json(file, *facts)), file) != facts) {
    throw std::logic_error("what was read is not read again as it was written");
  }
}

std::vector<std::string> side_files() {
  DataFacts facts{.range = {.smallest = {0, 6}, .largest = {121, 3}}};
  std::vector texts = {data_facts_json(good_file(), facts)};
  facts.tokenizer = {.kind = TokenizerKind::bpe,
                     .file = "t.json",
                     .fingerprint = 1,
                     .vocab_size = 300,
                     .eos = 299,
                     .special = {{"<|end|>", 299}}};
  facts.text_bytes = 1000;
  facts.content = 0x0123456789abcdef;
  facts.origin = {.making = {{"--eos", "true"}, {"--part", "of 4"}}, .command = 5, .bos = false, .eos = true};
  texts.push_back(data_facts_json(good_file(), facts));
  return texts;
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::string bin = golden("bytes.bin"), idx = golden("bytes.idx");
  static const std::vector<Reader> all = {
      {"idx", [](const std::string& text) { read_tokens(text, bin); }, texts({idx})},
      {"data-facts", read_side_file, side_files},
      {"tokens", [](const std::string& text) { read_tokens(idx, text); }, texts({bin})},
  };
  return all;
}

}  // namespace octet::fuzz

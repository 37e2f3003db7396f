// Encodes texts for tests/tokenizer/compare.py and measures how fast.
// Usage: octet-tokenizer-alone TOKENIZER TEXTS IDS [CONTROL_TOKENS] [ROUNDS]
// TEXTS has a 32-bit size and the bytes of each text, IDS gets a 32-bit count and the ids.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <exception>

#include "src/base/files.h"
#include "src/tokenizer/make_tokenizer.h"

namespace octet {
namespace {

std::vector<std::string> read_texts(const std::string& path) {
  const auto bytes = read_text_file(path);
  if (!bytes) throw not_written("tests", path);
  std::vector<std::string> texts;
  for (std::size_t place = 0; place < bytes->size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, bytes->data() + place, sizeof size);
    texts.push_back(bytes->substr(place + sizeof size, size));
    place += sizeof size + size;
  }
  return texts;
}

void append(std::string& out, const void* data, std::size_t bytes) {
  out.append(static_cast<const char*>(data), bytes);
}

void run(int argc, char** argv) {
  if (argc < 4) throw usage_error("tests", "usage: {} TOKENIZER TEXTS IDS [CONTROL_TOKENS] [ROUNDS]", argv[0]);
  const TokenizerOptions options{.control_tokens = argc > 4 && std::stoi(argv[4]) != 0};
  const auto tokenizer = make_tokenizer(argv[1], options);
  const auto encoder = tokenizer->make_encoder();
  const std::vector<std::string> texts = read_texts(argv[2]);
  std::string out;
  std::vector<std::int32_t> ids;
  for (int round = 0; round < (argc > 5 ? std::stoi(argv[5]) : 1); ++round) {
    out.clear();
    double seconds = 0;
    double bytes = 0;
    for (const std::string& text : texts) {
      ids.clear();
      const auto begin = std::chrono::steady_clock::now();
      encoder->encode(text, ids);
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      bytes += static_cast<double>(text.size());
      // SentencePiece normalizes texts.
      if (tokenizer->info().kind != "sentencepiece" && tokenizer->decode(ids) != text)
        throw internal_error("tests", "not the text again: {}", text.substr(0, 500));
      const auto count = static_cast<std::uint32_t>(ids.size());
      append(out, &count, sizeof count);
      append(out, ids.data(), ids.size() * sizeof ids[0]);
    }
    fmt::print("{:.1f} MB/s\n", bytes / seconds / 1e6);
  }
  if (!overwrite_text(argv[3], out)) throw not_written("tests", argv[3]);
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  try {
    octet::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

#include "src/data/tokenizer.h"

#include <array>
#include <cstring>
#include <string>

#include "src/base/error.h"

namespace octet {
namespace {

class BytesTokenizer final : public Tokenizer {
 public:
  static constexpr std::string_view tokenizer_name = "bytes";

  std::string_view name() const override { return tokenizer_name; }
  std::int32_t vocab_size() const override { return 256; }
  std::int32_t end_of_document() const override { return 0; }

  std::optional<std::size_t> find_refused(std::span<const std::uint8_t> bytes) const override {
    if (bytes.empty()) return std::nullopt;
    const void* found = std::memchr(bytes.data(), 0, bytes.size());
    if (found == nullptr) return std::nullopt;
    return static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - bytes.data());
  }

  void encode(std::span<const std::uint8_t> bytes, std::vector<std::int32_t>& ids) override {
    ids.insert(ids.end(), bytes.begin(), bytes.end());
  }
  void finish(std::vector<std::int32_t>& ids) override { ids.push_back(end_of_document()); }
};

struct Entry {
  std::string_view name;
  std::unique_ptr<Tokenizer> (*make)();
};
constexpr std::array tokenizers{
    Entry{BytesTokenizer::tokenizer_name,
          []() -> std::unique_ptr<Tokenizer> { return std::make_unique<BytesTokenizer>(); }},
};

}  // namespace

std::string tokenizer_names() {
  std::string names;
  for (const Entry& entry : tokenizers) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name) {
  for (const Entry& entry : tokenizers) {
    if (entry.name == name) return entry.make();
  }
  throw usage_error("data", "unknown tokenizer \"{}\"; known: {}", name, tokenizer_names());
}

}  // namespace octet

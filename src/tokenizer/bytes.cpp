#include "src/tokenizer/bytes.h"

#include "src/base/error.h"

namespace octet {
namespace {

class BytesEncoder final : public Encoder {
 public:
  void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    ids.insert(ids.end(), bytes, bytes + text.size());
  }
};

class BytesTokenizer final : public Tokenizer {
 public:
  BytesTokenizer() : Tokenizer({.kind = "bytes", .path = "", .vocab_size = 256, .bos = std::nullopt, .eos = 0}) {}

  std::unique_ptr<Encoder> make_encoder() const override { return std::make_unique<BytesEncoder>(); }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      if (id < 0 || id > 255) throw usage_error("tokenizer", "token id {} is no byte", id);
      text += static_cast<char>(id);
    }
    return text;
  }

  bool needs_utf8() const override { return false; }
  std::optional<std::size_t> find_refused(std::string_view text) const override {
    const std::size_t found = text.find('\0');
    return found == std::string_view::npos ? std::nullopt : std::optional(found);
  }
  std::size_t last_cut(std::string_view text) const override { return text.size(); }
};

}  // namespace

std::unique_ptr<Tokenizer> make_bytes_tokenizer() {
  return std::make_unique<BytesTokenizer>();
}

}  // namespace octet

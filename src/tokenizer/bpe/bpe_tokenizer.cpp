#include "src/tokenizer/bpe/bpe_tokenizer.h"

#include <utility>

#include "src/base/error.h"
#include "src/tokenizer/bpe/word_encoder.h"
#include "src/tokenizer/split/llama3.h"
#include "src/tokenizer/split/make_splitter.h"

namespace octet {
namespace {

/// On lines of the processor's cache of its own, away from what other threads change.
class alignas(64) BpeEncoder final : public Encoder {
 public:
  BpeEncoder(const BpeModel& model, const AddedTokens& added, const std::vector<SplitStep>& split)
      : added_(added), splitter_(make_splitter(split)), words_(model) {}

  void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
    added_.cut(
        text, [&](std::string_view plain) { encode_plain(plain, ids); }, [&](std::int32_t id) { ids.push_back(id); });
  }

 private:
  void encode_plain(std::string_view text, std::vector<std::int32_t>& ids) {
    splitter_->start(text);
    const char* end = text.data() + text.size();
    for (std::string_view piece = splitter_->next(); !piece.empty(); piece = splitter_->next()) {
      words_.encode(piece, static_cast<std::size_t>(end - piece.data()), ids);
    }
  }

  const AddedTokens& added_;
  std::unique_ptr<Splitter> splitter_;
  WordEncoder words_;
};

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(BpeParts parts, TokenizerInfo info, bool control_tokens)
      : Tokenizer(std::move(info)),
        model_(std::move(parts.model)),
        split_(std::move(parts.split)),
        added_(parts.added, control_tokens) {}

  std::unique_ptr<Encoder> make_encoder() const override {
    return std::make_unique<BpeEncoder>(model_, added_, split_);
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      if (!model_.tokens.has(id)) {
        throw usage_error("tokenizer", "{}: the token id {} is none of the vocabulary, whose largest is {}",
                          info().path, id, info().vocab_size - 1);
      }
      text += model_.tokens.bytes(id);
    }
    return text;
  }

  bool needs_utf8() const override { return true; }
  std::optional<std::size_t> find_refused(std::string_view) const override { return std::nullopt; }

  std::size_t last_cut(std::string_view text) const override {
    if (!can_be_cut(split_)) return 0;
    const Llama3Split split;
    std::size_t cut = split.last_cut(text);
    while (cut > 0 && added_.may_span(text, cut)) cut = split.last_cut(text.substr(0, cut));
    return cut;
  }

 private:
  BpeModel model_;
  std::vector<SplitStep> split_;
  AddedTokens added_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeParts parts, TokenizerInfo info, bool control_tokens) {
  return std::make_unique<BpeTokenizer>(std::move(parts), std::move(info), control_tokens);
}

}  // namespace octet

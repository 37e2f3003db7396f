#include "src/tokenizer/sentencepiece/load_sentencepiece.h"

#include <sentencepiece_processor.h>
#include <xxhash.h>

#include <exception>
#include <utility>

#include "src/base/error.h"
#include "src/tokenizer/json/document_ends.h"
#include "src/tokenizer/recorded_tokens.h"
#include "src/tokenizer/sentencepiece/model_facts.h"

namespace octet {
namespace {

using sentencepiece::SentencePieceProcessor;
using Type = SentencePieceFacts::Type;

void expect_done(const sentencepiece::util::Status& status, const std::string& file, const char* what) {
  if (!status.ok()) throw usage_error("tokenizer", "{}: SentencePiece cannot {}: {}", file, what, status.message());
}

class SentencePieceEncoder final : public Encoder {
 public:
  SentencePieceEncoder(const SentencePieceProcessor& processor, const std::string& file)
      : processor_(processor), file_(file) {}

  void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
    expect_done(processor_.Encode(text, &ids_), file_, "encode a text");
    ids.insert(ids.end(), ids_.begin(), ids_.end());
  }

 private:
  const SentencePieceProcessor& processor_;
  const std::string& file_;
  std::vector<int> ids_;
};

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::unique_ptr<SentencePieceProcessor> processor, TokenizerInfo info)
      : Tokenizer(std::move(info)), processor_(std::move(processor)) {}

  std::unique_ptr<Encoder> make_encoder() const override {
    return std::make_unique<SentencePieceEncoder>(*processor_, info().path);
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    std::vector<int> plain;
    const auto decode_plain = [&] {
      std::string part;
      if (!plain.empty()) expect_done(processor_->Decode(plain, &part), info().path, "decode ids");
      text += part;
      plain.clear();
    };
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= info().vocab_size) {
        throw usage_error("tokenizer", "{}: the token id {} is none of the vocabulary, whose largest is {}",
                          info().path, id, info().vocab_size - 1);
      }
      if (processor_->IsControl(id)) {  // which the library leaves out
        decode_plain();
        text += processor_->IdToPiece(id);
      } else {
        plain.push_back(id);
      }
    }
    decode_plain();
    return text;
  }

  bool needs_utf8() const override { return true; }
  std::optional<std::size_t> find_refused(std::string_view) const override { return std::nullopt; }
  std::size_t last_cut(std::string_view) const override { return 0; }

 private:
  std::unique_ptr<SentencePieceProcessor> processor_;  ///< its const methods are for any thread
};

void refuse_what_is_not_done(const SentencePieceFacts& facts, const std::string& file,
                             const TokenizerOptions& options) {
  if (facts.model != SentencePieceFacts::bpe && facts.model != SentencePieceFacts::unigram) {
    const char* kind = facts.model == SentencePieceFacts::word        ? "WORD"
                       : facts.model == SentencePieceFacts::character ? "CHAR"
                                                                      : "unknown";
    throw usage_error("tokenizer", "{}: its model_type is {}; expected BPE or UNIGRAM", file, kind);
  }
  if (options.control_tokens) {
    throw usage_error("tokenizer",
                      "{}: control tokens in the text are not supported for a SentencePiece model, whose library takes "
                      "them for plain text; expected no --control-tokens",
                      file);
  }
}

std::optional<std::int32_t> end_of(const std::optional<std::string>& asked, const char* option, int known,
                                   const SentencePieceFacts& facts, const std::string& file) {
  if (!asked) return known < 0 ? std::nullopt : std::optional<std::int32_t>(known);
  for (std::size_t id = 0; id < facts.pieces.size(); ++id) {
    if (facts.pieces[id].text == *asked) return static_cast<std::int32_t>(id);
  }
  throw usage_error("tokenizer", "{} \"{}\": {} has no such token", option, *asked, file);
}

}  // namespace

std::unique_ptr<Tokenizer> load_sentencepiece(std::string_view bytes, const std::string& file,
                                              const TokenizerOptions& options) {
  const SentencePieceFacts facts = read_sentencepiece_facts(bytes, file);
  refuse_what_is_not_done(facts, file, options);
  auto processor = std::make_unique<SentencePieceProcessor>();
  try {
    expect_done(processor->LoadFromSerializedProto(bytes), file, "load it");
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // thrown by what SentencePiece is built on
    throw usage_error("tokenizer", "{}: SentencePiece cannot load it: {}", file, error.what());
  }
  TokenizerInfo info{.kind = "sentencepiece", .path = file, .fingerprint = XXH3_64bits(bytes.data(), bytes.size())};
  info.vocab_size = processor->GetPieceSize();
  info.bos = end_of(options.bos, "bos", processor->bos_id(), facts, file);
  info.eos = end_of(options.eos, "eos", processor->eos_id(), facts, file);
  take_recorded_ends(options, info);
  const AddedEnds added = read_added_ends(file);
  info.adds_bos = info.bos && added.bos.value_or(true);  // as Llama 2's tokenizer does
  info.adds_eos = info.eos && added.eos.value_or(false);
  for (std::size_t id = 0; id < facts.pieces.size(); ++id) {
    const SentencePieceFacts::Piece& piece = facts.pieces[id];
    if (piece.type != Type::control && piece.type != Type::unknown) continue;
    info.special.push_back({std::string(piece.text), static_cast<std::int32_t>(id)});
  }
  return std::make_unique<SentencePieceTokenizer>(std::move(processor), std::move(info));
}

}  // namespace octet

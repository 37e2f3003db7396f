// Files of tokenizers: a tokenizer.json, a rank file, a SentencePiece model, and the patterns that cut texts.
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/tokenizer/json/load_json.h"
#include "src/tokenizer/pattern/oniguruma_syntax.h"
#include "src/tokenizer/ranks/load_ranks.h"
#include "src/tokenizer/sentencepiece/load_sentencepiece.h"
#include "src/tokenizer/sentencepiece/model_facts.h"
#include "src/tokenizer/split/make_splitter.h"
#include "tests/fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

const std::string sample =
    "Don't  WE'LL 12345 <|end_of_text|>\r\n\n\t(\xC3\xA9\xE4\xB8\xAD) \xF0\x9F\x98\x80 a.b  \xC2\xA0x   ";
const std::string golden = "tests/tokenizer/golden/";

/// What a tokenizer encodes it decodes, unless the file says that parts are left out.
void use(const Tokenizer& tokenizer, bool leaves_out) {
  std::vector<std::int32_t> ids;
  tokenizer.make_encoder()->encode(sample, ids);
  const std::string text = tokenizer.decode(ids);
  if (!leaves_out) expect_same(sample, text);
}

void read_json(const std::string& text) {
  const auto tokenizer = load_tokenizer_json(text, "tokenizer.json", {});
  use(*tokenizer, text.find("Removed") != std::string::npos);
  const auto control = load_tokenizer_json(text, "tokenizer.json", {.control_tokens = true});
  use(*control, text.find("Removed") != std::string::npos);
}

void read_ranks(const std::string& text) {
  if (is_rank_file(text)) use(*load_rank_file(text, "r.tiktoken", {.eos = "<end>"}), false);
}

/// A model may stand for another text than it is given, whose ids it has to read nevertheless.
void read_sentencepiece(const std::string& bytes) {
  if (!is_sentencepiece_model(bytes)) return;
  const auto tokenizer = load_sentencepiece(bytes, "tokenizer.model", {});
  std::vector<std::int32_t> ids;
  tokenizer->make_encoder()->encode(sample, ids);
  (void)tokenizer->decode(ids);
}

/// A pattern that is done cuts a text into pieces that are all of it.
void read_pattern(const std::string& pattern) {
  const TranslatedPattern translated = translate_oniguruma(pattern);
  if (!translated.refused.empty()) throw usage_error("fuzz", "{}", translated.refused);
  std::string refused;
  const SplitStep step{.kind = SplitStep::Kind::pattern,
                       .pattern = CompiledPattern::compile(translated.pcre2, refused)};
  if (!step.pattern) {
    if (refused.empty()) throw std::logic_error("refused without a reason");
    throw usage_error("fuzz", "{}", refused);
  }
  const auto splitter = make_splitter({step, step});
  splitter->start(sample);
  std::string all;
  for (std::string_view piece = splitter->next(); !piece.empty(); piece = splitter->next()) all += piece;
  expect_same(sample, all);
}

/// The golden vocabulary with each of the pre-tokenizers.
std::vector<std::string> json_seeds() {
  const std::string plain = source_file(golden + "bpe-512.json");
  nlohmann::json file = nlohmann::json::parse(plain);
  std::vector<std::string> seeds = {plain};
  const nlohmann::json sections = nlohmann::json::parse(source_file(golden + "pre_tokenizers.json"));
  for (const auto& section : sections) {
    file["pre_tokenizer"] = section;
    seeds.push_back(file.dump());
  }
  return seeds;
}

std::vector<std::string> pattern_seeds() {
  std::vector<std::string> seeds;
  const nlohmann::json flat = nlohmann::json::parse(source_file(golden + "pre_tokenizers.json")).flatten();
  for (const auto& [key, value] : flat.items()) {
    if (key.ends_with("/Regex")) seeds.push_back(value);
  }
  return seeds;
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"tokenizer-json", read_json, json_seeds},
      {"rank-file", read_ranks, files({golden + "ranks-512.tiktoken"})},
      {"pattern", read_pattern, pattern_seeds},
      {"sentencepiece", read_sentencepiece, files({golden + "spm-bpe.model", golden + "spm-unigram.model"})},
  };
  return all;
}

}  // namespace octet::fuzz

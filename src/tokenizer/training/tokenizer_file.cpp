#include "src/tokenizer/training/tokenizer_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/tokenizer/byte_alphabet.h"
#include "src/tokenizer/split/llama3.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

std::string spelled(const TrainedBpe& trained, std::int32_t id) {
  const std::string& token = trained.tokens[static_cast<std::size_t>(id)];
  return id < trained.special ? token : spell_bytes(token);
}

Json added_tokens(const TrainedBpe& trained) {
  Json tokens = Json::array();
  for (std::int32_t id = 0; id < trained.special; ++id) {
    tokens.push_back({{"id", id},
                      {"content", spelled(trained, id)},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  }
  return tokens;
}

Json pre_tokenizer() {
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", std::string(llama3_pattern)}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, bytes})}};
}

/// Begins a text, and each text of a pair, with a special token.
Json post_processor(const TrainedBpe& trained, const std::string& bos) {
  const Json first = {{"SpecialToken", {{"id", bos}, {"type_id", 0}}}};
  const Json second = {{"SpecialToken", {{"id", bos}, {"type_id", 1}}}};
  const Json a = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, b = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  const auto id = std::ranges::find(trained.tokens, bos) - trained.tokens.begin();
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({first, a})},
          {"pair", Json::array({first, a, second, b})},
          {"special_tokens", {{bos, {{"id", bos}, {"ids", {id}}, {"tokens", {bos}}}}}}};
}

Json model(const TrainedBpe& trained) {
  Json vocab = Json::object(), merges = Json::array();
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(trained.tokens.size()); ++id) {
    vocab[spelled(trained, id)] = id;
  }
  for (const auto& [first, second] : trained.merges) {
    merges.push_back(Json::array({spelled(trained, first), spelled(trained, second)}));
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", true},
          {"vocab", std::move(vocab)},
          {"merges", std::move(merges)}};
}

}  // namespace

std::string tokenizer_json(const TrainedBpe& trained, const std::optional<std::string>& bos) {
  const Json decoder = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  const Json file = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added_tokens(trained)},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", pre_tokenizer()},
                     {"post_processor", bos ? post_processor(trained, *bos) : Json(nullptr)},
                     {"decoder", decoder},
                     {"model", model(trained)}};
  return file.dump(1) + "\n";
}

}  // namespace octet

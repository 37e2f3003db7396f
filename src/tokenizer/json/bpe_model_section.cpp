#include <fmt/format.h>

#include <string>
#include <utility>

#include "src/tokenizer/byte_alphabet.h"
#include "src/tokenizer/json/json_sections.h"

namespace octet {
namespace {

constexpr std::int64_t largest_id = (1 << 24) - 1;  // no vocabulary comes near it, and a wrong one takes no memory

void refuse_what_is_not_done(const JsonReader& model) {
  if (model.text("type") != "BPE") throw model.at("type").refuse("BPE");
  if (model.has("dropout") && model.number("dropout") != 0) throw model.at("dropout").refuse("null or 0");
  if (model.has("unk_token")) throw model.at("unk_token").refuse("null: all bytes are tokens");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.has(key) && !model.text(key).empty()) throw model.at(key).refuse("null or an empty text");
  }
  for (const char* key : {"fuse_unk", "byte_fallback"}) {
    if (model.has(key) && model.boolean(key)) throw model.at(key).refuse("false");
  }
}

void read_vocabulary(const JsonReader& vocab, BpeModel& model, SpelledIds& ids) {
  for (const auto& [token, entry] : vocab.members()) {
    const auto id = static_cast<std::int32_t>(entry.integer(std::int64_t{0}, largest_id));
    // A token that is not spelled in the alphabet of bytes stands for no bytes, so that no text can become it.
    const auto bytes = bytes_spelled(token);
    const bool added = bytes && !bytes->empty() ? model.tokens.add(id, *bytes) : model.tokens.add_named(id, token);
    if (!added) throw entry.refuse("an id that no other token has");
    ids[token] = id;
  }
}

void find_bytes(const JsonReader& vocab, BpeModel& model) {
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    const auto id = model.tokens.find(bytes);
    if (!id)
      throw vocab.at(spell_bytes(bytes).c_str()).refuse(fmt::format("an id, as each byte has one; this is {}", byte));
    model.byte_ids[byte] = *id;
  }
}

/// The two tokens of a merge: a list of two, or in older files a text with a space between them.
std::pair<std::string, std::string> read_merge(const JsonReader& merge) {
  if (!merge.is_text()) {
    const std::vector<JsonReader> parts = merge.elements(2);
    return {parts[0].text(), parts[1].text()};
  }
  const std::string text = merge.text();
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
    throw merge.refuse("two tokens with a space between them");
  }
  return {text.substr(0, space), text.substr(space + 1)};
}

std::int32_t id_in(const SpelledIds& ids, const std::string& token, const JsonReader& merge) {
  const auto found = ids.find(token);
  if (found == ids.end()) throw merge.refuse(fmt::format("tokens of the vocabulary, which lacks \"{}\"", token));
  return found->second;
}

void read_merges(const JsonReader& list, const SpelledIds& ids, BpeModel& model) {
  std::uint32_t rank = 0;
  for (const JsonReader& merge : list.elements()) {
    const auto [left, right] = read_merge(merge);
    const std::int32_t left_id = id_in(ids, left, merge);
    const std::int32_t right_id = id_in(ids, right, merge);
    if (!model.merges.add(left_id, right_id, rank++, id_in(ids, left + right, merge))) {
      throw merge.refuse("a pair that has not been merged before");
    }
  }
}

}  // namespace

BpeModel read_bpe_model(const JsonReader& section, SpelledIds& ids) {
  refuse_what_is_not_done(section);
  BpeModel model;
  read_vocabulary(section.at("vocab"), model, ids);
  find_bytes(section.at("vocab"), model);
  read_merges(section.at("merges"), ids, model);
  model.whole_first = section.has("ignore_merges") && section.boolean("ignore_merges");
  return model;
}

}  // namespace octet

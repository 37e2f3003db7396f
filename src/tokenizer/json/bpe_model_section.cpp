#include <fmt/format.h>

#include <string>
#include <utility>

#include "src/base/log.h"
#include "src/tokenizer/byte_alphabet.h"
#include "src/tokenizer/json/json_sections.h"

namespace octet {
namespace {

constexpr std::int64_t largest_id = (1 << 24) - 1;  // no vocabulary comes near it, and a wrong one takes no memory

void refuse_what_is_not_done(const JsonReader& model) {
  // The library's first files, such as that of GPT-2, do not say it. Of its models BPE alone has merges.
  const bool is_bpe = model.has("type") ? model.text("type") == "BPE" : model.contains("merges");
  if (!is_bpe) throw model.at("type").refuse("BPE");
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

/// Text is UTF-8, which never has these.
bool is_in_no_text(std::size_t byte) {
  return byte == 0xC0 || byte == 0xC1 || byte > 0xF4;
}

/// Unicode has assigned no character from U+40000 on that begins with F1, and none from U+80000 on that begins with F2.
bool begins_unassigned(std::size_t byte) {
  return byte == 0xF1 || byte == 0xF2;
}

/// A vocabulary that was made of nothing but the bytes of some texts lacks those that they did not have.
void find_bytes(const JsonReader& vocab, BpeModel& model) {
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    model.byte_ids[byte] = model.tokens.find(bytes).value_or(no_token);
    if (model.byte_ids[byte] != no_token || is_in_no_text(byte)) continue;
    if (!begins_unassigned(byte)) {
      throw vocab.at(spell_bytes(bytes).c_str())
          .refuse(fmt::format("an id, as this is the byte {:02X}, which text may have", byte));
    }
    log::warning(
        "{} has no token for the byte {:X}, with which no character begins that Unicode has assigned; a text that has "
        "it all the same is encoded without it, as by Hugging Face's library",
        vocab.where(), byte);
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

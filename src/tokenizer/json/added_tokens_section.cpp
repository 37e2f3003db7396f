#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/tokenizer/json/json_sections.h"

namespace octet {
namespace {

void refuse_flags(const JsonReader& entry) {
  for (const char* flag : {"single_word", "lstrip", "rstrip"}) {
    if (entry.has(flag) && entry.boolean(flag)) {
      throw entry.at(flag).refuse("false: a token is found wherever it stands, and takes no spaces with it");
    }
  }
}

AddedToken read_added_token(const JsonReader& entry) {
  AddedToken token{.text = entry.text("content"), .id = static_cast<std::int32_t>(entry.integer("id", 0, INT32_MAX))};
  if (token.text.empty()) throw entry.at("content").refuse("a text that is not empty");
  token.special = entry.has("special") && entry.boolean("special");
  token.normalized = entry.has("normalized") ? entry.boolean("normalized") : !token.special;
  return token;
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const JsonReader& list, const SpelledIds& vocabulary, bool control_tokens,
                                          TokenTable& tokens) {
  std::vector<AddedToken> added;
  if (!list.is_there() || list.is_null()) return added;
  std::set<std::string> texts;
  // Hugging Face's library gives a token that is none of the vocabulary the next free id, whatever the file says.
  auto next_id = static_cast<std::int32_t>(vocabulary.size());
  for (const JsonReader& entry : list.elements()) {
    const AddedToken token = read_added_token(entry);
    if (!texts.insert(token.text).second) throw entry.at("content").refuse("a text that no other added token has");
    const auto known = vocabulary.find(token.text);
    const std::int32_t id = known != vocabulary.end() ? known->second : next_id;
    if (token.id != id) {
      throw entry.at("id").refuse(fmt::format("{}, which Hugging Face's library would give \"{}\"", id, token.text));
    }
    if (known == vocabulary.end() && !tokens.add_named(id, token.text)) {
      throw entry.at("id").refuse("an id that no other token has");
    }
    if (tokens.bytes(id) != token.text) {
      throw entry.at("content").refuse("a text that does not spell other bytes in the vocabulary");
    }
    if (control_tokens || !token.special) refuse_flags(entry);
    next_id = std::max(next_id, token.id + 1);
    added.push_back(token);
  }
  return added;
}

}  // namespace octet

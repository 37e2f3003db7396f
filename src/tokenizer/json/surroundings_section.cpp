#include "src/tokenizer/json/json_sections.h"

namespace octet {
namespace {

std::int32_t known_id(const JsonReader& id, const TokenTable& tokens) {
  const std::int64_t value = id.integer(std::int64_t{0});
  if (value >= tokens.size() || !tokens.has(static_cast<std::int32_t>(value))) throw id.refuse("the id of a token");
  return static_cast<std::int32_t>(value);
}

/// TemplateProcessing: `single` lists a special token, the text as sequence A, or both in some order.
DocumentEnds read_template(const JsonReader& section, const TokenTable& tokens) {
  DocumentEnds around;
  bool behind = false;
  for (const JsonReader& item : section.list("single")) {
    if (item.contains("Sequence")) {
      if (behind) throw item.refuse("the text once");
      behind = true;
      continue;
    }
    const JsonReader name = item.at("SpecialToken").at("id");
    const JsonReader ids = section.at("special_tokens").at(name.text().c_str()).at("ids");
    auto& place = behind ? around.eos : around.bos;
    if (place) throw name.refuse("one token at most before the text and one behind it");
    place = known_id(ids.elements(1)[0], tokens);
  }
  return around;
}

/// RobertaProcessing and BertProcessing: [token, id] before the text and behind it.
DocumentEnds read_pair(const JsonReader& section, const TokenTable& tokens) {
  return {.bos = known_id(section.at("cls").elements(2)[1], tokens),
          .eos = known_id(section.at("sep").elements(2)[1], tokens)};
}

}  // namespace

DocumentEnds read_surroundings(const JsonReader& section, const TokenTable& tokens) {
  if (!section.is_there() || section.is_null()) return {};
  const std::string type = section.text("type");
  if (type == "ByteLevel") return {};  // changes offsets alone
  if (type == "TemplateProcessing") return read_template(section, tokens);
  if (type == "RobertaProcessing" || type == "BertProcessing") return read_pair(section, tokens);
  if (type != "Sequence") {
    throw section.at("type").refuse("ByteLevel, TemplateProcessing, RobertaProcessing, BertProcessing or Sequence");
  }
  DocumentEnds around;
  for (const JsonReader& part : section.list("processors")) {
    const DocumentEnds inner = read_surroundings(part, tokens);
    if ((inner.bos && around.bos) || (inner.eos && around.eos)) {
      throw part.refuse("one token at most before the text and one behind it");
    }
    if (inner.bos) around.bos = inner.bos;
    if (inner.eos) around.eos = inner.eos;
  }
  return around;
}

}  // namespace octet

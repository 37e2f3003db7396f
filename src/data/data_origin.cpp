#include "src/data/data_origin.h"

#include "src/base/hex_text.h"

namespace octet {

nlohmann::ordered_json json_of(const DataOrigin& origin) {
  return {{"command", hex_text(origin.command)},
          {"bos", origin.bos},
          {"eos", origin.eos},
          {"making", nlohmann::ordered_json(origin.making)}};
}

DataOrigin data_origin_of(const JsonReader& json) {
  DataOrigin origin{.command = hex_of(json.at("command")), .bos = json.boolean("bos"), .eos = json.boolean("eos")};
  for (const auto& [name, value] : json.at("making").members()) origin.making[name] = value.text();
  json.finish();
  return origin;
}

std::string making_difference(const DataOrigin& a, const DataOrigin& b) {
  std::string text;
  for (const auto& [name, value] : a.making) {
    const auto other = b.making.find(name);
    if (other == b.making.end() || other->second == value) continue;
    text += fmt::format("{}{} was {} and {}", text.empty() ? "" : "; ", name, value, other->second);
  }
  return text;
}

}  // namespace octet

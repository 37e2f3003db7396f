#include "src/corpus/json_line.h"

#include <fmt/format.h>
#include <simdjson.h>

namespace octet {

using simdjson::error_code;
namespace dom = simdjson::dom;

static_assert(JsonLine::padding >= simdjson::SIMDJSON_PADDING);

struct JsonLine::Parser {
  dom::parser parser;
};

JsonLine::JsonLine(std::string field) : field_(std::move(field)), parser_(std::make_unique<Parser>()) {}
JsonLine::~JsonLine() = default;

JsonLine::Result JsonLine::parse(std::string_view line) {
  // The library's tables take some 20 times the longest line: what a huge one needed is given back after it.
  constexpr std::size_t keep = std::size_t{8} << 20;
  if (parser_->parser.capacity() > keep && line.size() <= keep) parser_ = std::make_unique<Parser>();

  dom::element root;
  const error_code error =
      parser_->parser.parse(reinterpret_cast<const std::uint8_t*>(line.data()), line.size(), false).get(root);
  if (error != simdjson::SUCCESS) {
    why_ =
        fmt::format("is not JSON ({}); expected an object with the key \"{}\"", simdjson::error_message(error), field_);
    const bool text_is_bad = error == simdjson::UTF8_ERROR || error == simdjson::STRING_ERROR;
    return text_is_bad ? Result::bad_utf8 : Result::broken;
  }
  dom::element value;
  if (!root.is_object()) {
    why_ = fmt::format("is JSON, but no object; expected one with the key \"{}\"", field_);
  } else if (root.at_key(field_).get(value) != simdjson::SUCCESS) {
    why_ = fmt::format("is an object without the key \"{}\" (--field)", field_);
  } else if (value.get(text_) != simdjson::SUCCESS) {
    why_ = fmt::format("has no text as \"{}\", but {}", field_, value.is_null() ? "null" : "another kind of value");
  } else {
    return Result::text;
  }
  return Result::broken;
}

bool is_json_object(std::string_view text) {
  dom::parser parser;
  dom::element root;
  return parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS && root.is_object();
}

}  // namespace octet

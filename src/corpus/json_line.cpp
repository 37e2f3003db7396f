#include "src/corpus/json_line.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "src/corpus/python_json.h"

namespace octet {

using simdjson::error_code;
namespace dom = simdjson::dom;

static_assert(JsonLine::padding >= simdjson::SIMDJSON_PADDING);

struct JsonLine::Parser {
  dom::parser parser;
};

namespace {

bool is_of_text(error_code error) {
  return error == simdjson::UTF8_ERROR || error == simdjson::STRING_ERROR;
}

/// Parses a line again that is no JSON, and takes the numbers that Python writes (NaN, Infinity): such lines are not
/// rare, and the texts in them do not depend on these numbers.
error_code parse_as_python(dom::parser& parser, std::string_view line, dom::element& root) {
  return parser.parse(without_python_numbers(line)).get(root);
}

struct Found {
  dom::element value{};
  int times = 0;
};

Found find_key(const dom::object& object, std::string_view key) {
  Found found;
  for (auto field = object.begin(); field != object.end(); ++field) {
    if (!field.key_equals(key)) continue;
    found.value = field.value();
    ++found.times;
  }
  return found;
}

/// The value of a key, or else by a path as "meta.text", as Parquet's columns are named, of the key in an object.
Found find_field(const dom::object& object, std::string_view path) {
  const Found found = find_key(object, path);
  const std::size_t dot = path.find('.');
  if (found.times > 0 || dot == std::string_view::npos) return found;
  const Found outer = find_key(object, path.substr(0, dot));
  dom::object inner;
  if (outer.times != 1) return outer;
  if (outer.value.get(inner) != simdjson::SUCCESS) return {};
  return find_field(inner, path.substr(dot + 1));
}

}  // namespace

JsonLine::JsonLine(std::string field) : field_(std::move(field)), parser_(std::make_unique<Parser>()) {}
JsonLine::~JsonLine() = default;

JsonLine::Result JsonLine::parse(std::string_view line) {
  // The library's tables take some 20 times the longest line: what a huge one needed is given back after it.
  constexpr std::size_t keep = std::size_t{8} << 20;
  if (parser_->parser.capacity() > keep && line.size() <= keep) parser_ = std::make_unique<Parser>();

  dom::parser& parser = parser_->parser;
  dom::element root;
  error_code error = parser.parse(reinterpret_cast<const std::uint8_t*>(line.data()), line.size(), false).get(root);
  if (error != simdjson::SUCCESS && !is_of_text(error)) error = parse_as_python(parser, line, root);
  if (error != simdjson::SUCCESS) {
    why_ =
        fmt::format("is not JSON ({}); expected an object with the key \"{}\"", simdjson::error_message(error), field_);
    return is_of_text(error) ? Result::bad_utf8 : Result::broken;
  }
  dom::object object;
  if (root.get(object) != simdjson::SUCCESS) {
    why_ = fmt::format("is JSON, but no object; expected one with the key \"{}\"", field_);
    return Result::broken;
  }
  const Found found = find_field(object, field_);
  if (found.times == 0) {
    why_ = fmt::format("is an object without the key \"{}\" (--field)", field_);
  } else if (found.times > 1) {
    why_ = fmt::format("has the key of \"{}\" {} times; expected it once", field_, found.times);
  } else if (found.value.get(text_) != simdjson::SUCCESS) {
    why_ =
        fmt::format("has no text as \"{}\", but {}", field_, found.value.is_null() ? "null" : "another kind of value");
  } else {
    return Result::text;
  }
  return Result::broken;
}

bool is_json_object(std::string_view text) {
  dom::parser parser;
  dom::element root;
  error_code error = parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS) error = parse_as_python(parser, text, root);
  return error == simdjson::SUCCESS && root.is_object();
}

}  // namespace octet

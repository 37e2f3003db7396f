#include "src/topology/xml_fields.h"

#include <algorithm>
#include <charconv>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

constexpr std::size_t largest_file = 16 << 20;
constexpr int deepest = 64;  // PCI trees have a handful of levels; reading them is recursive

int depth_of(const pugi::xml_document& document) {
  struct Walker : pugi::xml_tree_walker {
    int most = 0;
    bool for_each(pugi::xml_node&) override {
      most = std::max(most, depth());
      return true;
    }
  } walker;
  const_cast<pugi::xml_document&>(document).traverse(walker);  // pugixml 1.13 has no const traverse
  return walker.most;
}

template <typename T>
T require(const std::optional<T>& value, const std::string& place, const char* name) {
  if (!value) throw usage_error("topology", "{} has no attribute {}", place, name);
  return *value;
}

}  // namespace

XmlFile::XmlFile(const std::string& text, std::string source) : source_(std::move(source)), line_starts_{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line_starts_.push_back(i + 1);
  }
  if (text.size() > largest_file)
    throw usage_error("topology", "{}: {} bytes, expected XML of NCCL", source_, text.size());
  const pugi::xml_parse_result result =
      document_.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0));
    const auto line = std::ranges::upper_bound(line_starts_, offset) - line_starts_.begin();
    throw usage_error("topology", "{}:{}: not XML: {}", source_, line, result.description());
  }
  if (depth_of(document_) > deepest) {
    throw usage_error("topology", "{}: elements in each other {} deep, expected at most {}", source_,
                      depth_of(document_), deepest);
  }
}

std::string XmlFile::root_name() const {
  return document_.document_element().name();
}

pugi::xml_node XmlFile::root(const std::string& name) const {
  const pugi::xml_node top = document_.document_element();
  if (top.name() != name) {
    throw usage_error("topology", "{}: begins with <{}>, expected <{}>", source_, top.name(), name);
  }
  return top;
}

int XmlFile::line_of(pugi::xml_node node) const {
  const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0));
  return static_cast<int>(std::ranges::upper_bound(line_starts_, offset) - line_starts_.begin());
}

std::string XmlFile::place(pugi::xml_node node) const {
  return fmt::format("{}:{}: <{}>", source_, line_of(node), node.name());
}

std::string XmlFile::text(pugi::xml_node node, const char* name) const {
  return node.attribute(name).value();
}

std::string XmlFile::required_text(pugi::xml_node node, const char* name) const {
  if (node.attribute(name).empty()) throw usage_error("topology", "{} has no attribute {}", place(node), name);
  return text(node, name);
}

std::optional<std::int64_t> XmlFile::integer(pugi::xml_node node, const char* name) const {
  const std::string value = text(node, name);
  if (value.empty()) return std::nullopt;
  std::int64_t number = 0;
  if (!parse(value, number)) {
    throw usage_error("topology", "{} {} = {}: expected an integer", place(node), name, in_quotes(value));
  }
  return number;
}

std::int64_t XmlFile::required_integer(pugi::xml_node node, const char* name) const {
  return require(integer(node, name), place(node), name);
}

std::optional<double> XmlFile::number(pugi::xml_node node, const char* name) const {
  const std::string value = text(node, name);
  if (value.empty()) return std::nullopt;
  double number = 0;
  if (!parse(value, number)) {
    throw usage_error("topology", "{} {} = {}: expected a number", place(node), name, in_quotes(value));
  }
  return number;
}

double XmlFile::required_number(pugi::xml_node node, const char* name) const {
  return require(number(node, name), place(node), name);
}

std::optional<bool> XmlFile::flag(pugi::xml_node node, const char* name) const {
  const auto value = integer(node, name);
  if (value && *value != 0 && *value != 1) {
    throw usage_error("topology", "{} {} = {}: expected 0 or 1", place(node), name, *value);
  }
  return value ? std::optional(*value == 1) : std::nullopt;
}

std::int64_t XmlFile::required_hex(pugi::xml_node node, const char* name) const {
  const std::string value = required_text(node, name);
  const std::size_t start = value.starts_with("0x") ? 2 : 0;
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto read = std::from_chars(value.data() + start, end, number, 16);
  if (read.ec != std::errc() || read.ptr != end || number < 0) {
    throw usage_error("topology", "{} {} = {}: expected a hexadecimal number", place(node), name, in_quotes(value));
  }
  return number;
}

std::string read_xml_text(const std::string& path) {
  std::string text = given_text("topology", path);
  if (text.size() > largest_file) {
    throw usage_error("topology", "{}: {} bytes, expected at most {}", path, text.size(), largest_file);
  }
  return text;
}

}  // namespace octet

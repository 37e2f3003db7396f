#pragma once

#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <vector>

namespace octet {

/// A parsed XML file with the lines of its elements, for messages.
class XmlFile {
 public:
  /// Usage error that names `source`, line and what the parser expected, or that the text is too large or too deep.
  XmlFile(const std::string& text, std::string source);

  const std::string& source() const { return source_; }
  std::string root_name() const;
  /// The only element at the top, which has this name; usage error otherwise.
  pugi::xml_node root(const std::string& name) const;
  int line_of(pugi::xml_node node) const;
  /// "topo.xml:12: <pci>".
  std::string place(pugi::xml_node node) const;

  // Attributes; usage errors name the place and what was expected. Empty and missing values are nothing.
  std::string text(pugi::xml_node node, const char* name) const;
  std::string required_text(pugi::xml_node node, const char* name) const;
  std::optional<std::int64_t> integer(pugi::xml_node node, const char* name) const;
  std::int64_t required_integer(pugi::xml_node node, const char* name) const;
  std::optional<double> number(pugi::xml_node node, const char* name) const;
  double required_number(pugi::xml_node node, const char* name) const;
  std::optional<bool> flag(pugi::xml_node node, const char* name) const;  ///< 0 or 1
  /// Hexadecimal digits with or without 0x, as devices of a graph dump.
  std::int64_t required_hex(pugi::xml_node node, const char* name) const;

 private:
  std::string source_;
  pugi::xml_document document_;
  std::vector<std::size_t> line_starts_;
};

/// The whole text of a file. Usage error when it cannot be read or has more than 16 MiB.
std::string read_xml_text(const std::string& path);

}  // namespace octet

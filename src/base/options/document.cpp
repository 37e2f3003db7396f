#include "src/base/options/document.h"

#include <algorithm>
#include <sstream>

#include "src/base/options/text.h"

namespace octet {
namespace {

constexpr std::size_t help_width = 100;

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  const std::string margin(indent, ' ');
  std::string out, line = margin, word;
  std::istringstream words(text);
  while (words >> word) {
    if (line.size() > indent && line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line = margin;
    }
    line += (line.size() > indent ? " " : "") + word;
  }
  return out + line + "\n";
}

std::string facts(const Option& option) {
  std::vector<std::string> parts;
  if (!option.unit_text().empty()) parts.push_back(option.unit_text());
  if (option.is_required()) parts.emplace_back("required");
  if (option.has_default()) parts.push_back("default " + option.default_text());
  if (!option.range().empty()) parts.push_back(option.range());
  return parts.empty() ? "" : fmt::format("[{}]", joined(parts, "; "));
}

/// A vertical bar would end the table's cell.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string code(const std::string& text) {
  return text.empty() ? "" : fmt::format("`{}`", text);
}

std::string table_row(const Option& option, const std::string& prefix) {
  const std::string initial = option.is_required() ? "required" : code(option.default_text());
  return fmt::format("| `{}{}` | {} | {} | {} | {} | {} |\n", prefix, option.name(), cell(option.type()),
                     option.unit_text(), cell(initial), option.range(), cell(option.help_text()));
}

/// The option's row, and one for each member of a list's elements.
std::string table_rows(const Option& option) {
  std::string out = table_row(option, "");
  Schema members;
  option.declare_members(members);
  for (const Option& member : members.options()) out += table_row(member, option.name() + "[].");
  return out;
}

/// `body` for each option of the section.
template <typename F>
std::string each(const Schema& schema, const Schema::Section& section, const F& body) {
  std::string out;
  for (const Option& option : schema.options()) {
    if (option.section() == section.name) out += body(option);
  }
  return out;
}

/// 1e-08 as 1.0e-08: to readers of YAML 1.1, as PyYAML, a number without a point is a text.
std::string with_points(const std::string& numbers) {
  std::string out;
  bool whole = true;
  for (const char c : numbers) {
    if (c == 'e' && whole) out += ".0";
    whole = (whole && c != '.' && c != 'e') || c == ',' || c == '[';
    out += c;
  }
  return out;
}

}  // namespace

std::string to_yaml(const Schema& schema) {
  std::string out;
  for (const auto& section : schema.sections()) {
    const std::string indent = section.name.empty() ? "" : "  ";
    const std::string lines = each(schema, section, [&](const Option& option) {
      const bool numbers = option.type() == "number" || option.type() == "list of numbers";
      return fmt::format("{}{}: {}\n", indent, option.key(), numbers ? with_points(option.text()) : option.text());
    });
    if (!lines.empty() && !section.name.empty()) out += section.name + ":\n";
    out += lines;
  }
  return out;
}

std::string help_text(const Schema& schema) {
  std::string out;
  for (const auto& section : schema.sections()) {
    const std::string text = section_help(schema, section.name);
    if (!section.name.empty() && !text.empty()) out += "\n";
    out += text;
  }
  return out;
}

std::string option_help(const Option& option) {
  const std::string letter = option.letter() != 0 ? fmt::format("-{}, ", option.letter()) : "";
  const std::string value = option.is_flag() ? "" : option.is_several() ? " text ..." : " " + option.type();
  return fmt::format("  {}--{}{}\n", letter, option.name(), value) +
         wrapped(option.help_text() + (option.is_flag() ? "" : " " + facts(option)), 6, help_width);
}

std::string section_help(const Schema& schema, std::string_view name) {
  const auto section = std::ranges::find(schema.sections(), name, &Schema::Section::name);
  if (section == schema.sections().end()) return "";
  std::string lines = each(schema, *section, option_help);
  if (name.empty() || lines.empty()) return lines;
  return wrapped(section->name + ": " + section->help, 0, help_width) + lines;
}

std::string section_list(const Schema& schema) {
  std::string out;
  for (const auto& section : schema.sections()) {
    if (section.name.empty()) continue;
    const std::size_t end = std::min(section.help.find(". "), section.help.find(';'));
    std::string sentence = section.help.substr(0, end);
    if (sentence.ends_with('.')) sentence.pop_back();
    constexpr std::size_t indent = 15;
    out += fmt::format("  {:<12} {}", section.name, wrapped(sentence, indent, help_width).substr(indent));
  }
  return out;
}

std::string markdown(const Schema& schema) {
  std::string out;
  for (const auto& section : schema.sections()) {
    const std::string rows = each(schema, section, table_rows);
    if (rows.empty()) continue;
    if (!section.name.empty()) out += fmt::format("\n## {}\n\n{}\n", section.name, section.help);
    out += "\n| Option | Type | Unit | Default | Range | Meaning |\n|---|---|---|---|---|---|\n" + rows;
  }
  return out;
}

}  // namespace octet

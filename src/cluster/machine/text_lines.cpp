#include "src/cluster/machine/text_lines.h"

#include <algorithm>

namespace octet {
namespace {

constexpr std::string_view space = " \t\r\n";

}  // namespace

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(space) - first + 1));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t end = text.find(separator);
    out.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t last = line.find_last_not_of(space);
    if (last != std::string_view::npos) out.emplace_back(line.substr(0, last + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::vector<std::vector<std::string>> csv_rows(std::string_view text, std::size_t columns) {
  std::vector<std::vector<std::string>> out;
  for (const std::string& line : lines_of(text)) {
    auto values = split(line, ',');
    if (values.size() == columns) out.push_back(std::move(values));
  }
  return out;
}

std::string value_after(std::string_view text, std::string_view key, char separator) {
  for (const std::string& line : lines_of(text)) {
    const std::string found = trimmed(line);
    if (!found.starts_with(key)) continue;
    const std::string rest = trimmed(std::string_view(found).substr(key.size()));
    if (rest.starts_with(separator)) return trimmed(std::string_view(rest).substr(1));
  }
  return "";
}

}  // namespace octet

#include "src/tuning/fit/text_table.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr std::size_t type_column = 2;  // behind size and count
constexpr std::size_t block = 4;        // time, algbw, busbw, wrong

Printed number(std::string_view word, std::string_view column, std::string_view where) {
  const auto value = parse_printed(word);
  if (!value) throw usage_error("tuning", "{}: {} is \"{}\"; expected a number", where, column, word);
  return *value;
}

std::int64_t bytes_of(std::string_view word, std::string_view where) {
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bytes);
  if (error != std::errc() || end != word.data() + word.size() || bytes < 0) {
    throw usage_error("tuning", "{}: size is \"{}\"; expected bytes", where, word);
  }
  return bytes;
}

double allowed_difference(std::string_view type) {
  if (type == "double") return 1e-12;
  if (type == "float") return 1e-5;
  return type == "half" || type == "bfloat16" ? 1e-2 : 0;
}

bool is_of_host_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
}

/// 0: the line has no such word.
std::size_t length_of_word_label(std::string_view line) {
  if (line.starts_with("[pod/")) {
    const std::size_t end = line.find(']');
    return end == std::string_view::npos ? 0 : end + 1;
  }
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(line, is_of_host_name) - line.begin());
  if (end == 0 || end == line.size() || line[end] != ':') return 0;
  const bool alone = end + 1 == line.size() || std::isspace(static_cast<unsigned char>(line[end + 1])) != 0;
  return alone ? end + 1 : 0;
}

}  // namespace

std::string_view without_label(std::string_view line) {
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.remove_suffix(1);
  if (const std::size_t tag = line.find(">:"); line.starts_with('[') && tag != std::string_view::npos) {
    return line.substr(tag + 2);
  }
  const std::size_t digits = line.find_first_not_of(" 0123456789");
  if (digits != std::string_view::npos && digits > 0 && line.substr(digits).starts_with(": ") &&
      std::isdigit(static_cast<unsigned char>(line[digits - 1])) != 0) {
    return line.substr(digits + 2);
  }
  return line;
}

bool has_word_labels(std::string_view text) {
  std::size_t lines = 0, labelled = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      ++lines;
      if (length_of_word_label(line) > 0) ++labelled;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 2 * labelled > lines;
}

std::string_view without_word_label(std::string_view line) {
  return line.substr(length_of_word_label(line));
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return found;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    found.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

bool TextTable::has_names(std::string_view line) {
  const auto names = words(line);
  return names.size() > 3 && names[0] == "#" && names[1] == "size" && names[2] == "count";
}

TextTable::TextTable(std::string_view names, std::string_view where) {
  auto columns = words(names);
  columns.erase(columns.begin());  // the '#'
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == "cputime") {
      throw usage_error("tuning", "{}: times of the CPU's call; expected those of the collective (run without -C)",
                        where);
    }
    if (columns[i] != "time") continue;
    if (i + block > columns.size() || columns[i + 1] != "algbw" || columns[i + 2] != "busbw" ||
        (columns[i + 3] != "#wrong" && columns[i + 3] != "error")) {
      throw usage_error("tuning", "{}: column {} is time; expected algbw, busbw and #wrong behind it", where, i + 1);
    }
    differences_ = columns[i + 3] == "error";
    times_.push_back(i);
  }
  if (times_.empty() || times_.size() > 2) {
    throw usage_error("tuning", "{}: {} columns of time; expected one out of place and one in place", where,
                      times_.size());
  }
  columns_ = columns.size() + (columns.back() == "timestamp" ? 1 : 0);
}

TextTable::Line TextTable::parse(std::string_view line, std::string_view where) const {
  const auto cells = words(line);
  if (cells.size() != columns_) {
    throw usage_error("tuning", "{}: {} columns; expected the table's {}. Did another message get into the line?",
                      where, cells.size(), columns_);
  }
  Line parsed;
  parsed.type = cells[type_column];
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const std::size_t at = times_[i];
    Cells one;
    one.row.bytes = bytes_of(cells[0], where);
    one.row.microseconds = number(cells[at], "time", where);
    one.row.algbw = number(cells[at + 1], "algbw", where);
    one.row.busbw = number(cells[at + 2], "busbw", where);
    one.wrong = cells[at + 3];
    one.in_place = i == 1;
    parsed.cells.push_back(one);
  }
  return parsed;
}

bool TextTable::is_wrong(const std::string& wrong, std::string_view type, std::string_view where) const {
  if (wrong == "N/A") return false;
  const double value = number(wrong, differences_ ? "error" : "#wrong", where).value;
  return value > (differences_ ? allowed_difference(type) : 0);
}

}  // namespace octet

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// The text without the white space at both ends.
std::string trimmed(std::string_view text);
/// The text's parts between separators, trimmed.
std::vector<std::string> split(std::string_view text, char separator);
/// Its lines that are not empty, without white space at their ends; indentation stays.
std::vector<std::string> lines_of(std::string_view text);
/// Rows of nvidia-smi's --format=csv,noheader,nounits, those with `columns` values.
std::vector<std::vector<std::string>> csv_rows(std::string_view text, std::size_t columns);
/// What stands behind "KEY:" or "KEY :" on the first line that begins with KEY; empty if none does.
std::string value_after(std::string_view text, std::string_view key, char separator = ':');

}  // namespace octet

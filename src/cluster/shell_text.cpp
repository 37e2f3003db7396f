#include "src/cluster/shell_text.h"

#include <algorithm>
#include <cctype>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

bool is_plain(std::string_view text) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_-./:=,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, fits);
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (is_plain(text) && text.front() != '=') return std::string(text);  // a == looks like a mistake
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string sbatch_value(std::string_view text) {
  if (text.find_first_of("\n\r") != std::string_view::npos) {
    throw usage_error("cluster", "{}: found a line break, expected a text that a line of #SBATCH can hold",
                      in_quotes(text));
  }
  if (is_plain(text) || text.find_first_of(" \t#'\"\\") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace octet

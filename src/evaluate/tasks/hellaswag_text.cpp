#include "src/evaluate/tasks/hellaswag_text.h"

#include "src/evaluate/tasks/python_text.h"

namespace octet {
namespace {

/// text.replace(from, to)
std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t found = text.find(from, at);
    out += text.substr(at, found - at);
    if (found == std::string_view::npos) return out;
    out += to;
    at = found + from.size();
  }
}

/// re.sub(r"\[.*?\]", "", text)
std::string without_brackets(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('[', at);
    out += text.substr(at, open - at);
    if (open == std::string_view::npos) break;
    const std::size_t end = text.find_first_of("]\n", open);
    if (end == std::string_view::npos || text[end] == '\n') {  // no bracket closes on this line
      const std::size_t rest = end == std::string_view::npos ? text.size() : end;
      out += text.substr(open, rest - open);
      at = rest;
    } else {
      at = end + 1;
    }
  }
  return out;
}

}  // namespace

std::string clean_hellaswag(std::string_view text) {
  return replaced(without_brackets(replaced(stripped(text), " [title]", ". ")), "  ", " ");
}

}  // namespace octet

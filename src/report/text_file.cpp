#include "src/report/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "src/base/error.h"

namespace octet {

std::string read_text_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw usage_error("report", "{}: cannot be read: {}", path, std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad() || (text.fail() && file.peek() != std::ifstream::traits_type::eof())) {  // a folder, for one
    throw usage_error("report", "{}: cannot be read, expected a file of a run", path);
  }
  return text.str();
}

nlohmann::json read_json(const std::string& path) {
  const std::string text = read_text_file(path);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    throw usage_error("report", "{}:{}: no valid JSON", path, 1 + std::count(text.begin(), end, '\n'));
  }
}

}  // namespace octet

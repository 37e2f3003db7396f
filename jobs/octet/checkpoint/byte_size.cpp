#include "jobs/octet/checkpoint/byte_size.h"

#include <algorithm>
#include <map>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet::tool {

std::int64_t parse_bytes(const std::string& text, const std::string& option) {
  static const std::map<std::string, std::int64_t> units = {{"", 1},
                                                            {"B", 1},
                                                            {"KB", 1000},
                                                            {"MB", 1000'000},
                                                            {"GB", 1000'000'000},
                                                            {"TB", 1000'000'000'000},
                                                            {"KiB", std::int64_t{1} << 10},
                                                            {"MiB", std::int64_t{1} << 20},
                                                            {"GiB", std::int64_t{1} << 30},
                                                            {"TiB", std::int64_t{1} << 40}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::size_t unit = std::min(text.find_first_not_of(' ', digits), text.size());
  const auto found = units.find(text.substr(unit));
  std::int64_t bytes = 0;
  if (found == units.end() || !parse(text.substr(0, digits), bytes) || bytes < 1 ||
      __builtin_mul_overflow(bytes, found->second, &bytes)) {
    throw usage_error("octet", "{} is \"{}\"; expected a size such as 5GB, 500MB or 2GiB", option, text);
  }
  return bytes;
}

}  // namespace octet::tool

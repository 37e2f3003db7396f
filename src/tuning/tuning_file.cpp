#include "src/tuning/tuning_file.h"

#include <charconv>
#include <system_error>

namespace octet {
int nccl_minor(std::string_view version) {
  constexpr std::string_view major = "2.";
  int minor = -1;
  if (!version.starts_with(major)) return -1;
  const char* const end = version.data() + version.size();
  const auto [rest, error] = std::from_chars(version.data() + major.size(), end, minor);
  return error == std::errc() && minor >= 0 && (rest == end || *rest == '.') ? minor : -1;
}

}  // namespace octet

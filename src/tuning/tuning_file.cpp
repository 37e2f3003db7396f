#include "src/tuning/tuning_file.h"

#include <fmt/format.h>

#include <array>
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

std::uint64_t content_hash(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::string hash_text(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace octet

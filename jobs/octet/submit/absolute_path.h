#pragma once

#include <filesystem>
#include <string>

namespace octet::submit {

/// The path from the root on, without a slash at its end.
inline std::string absolute_path(const std::string& path) {
  std::string out = std::filesystem::absolute(path).lexically_normal();
  if (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

}  // namespace octet::submit

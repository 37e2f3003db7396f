#pragma once

#include <filesystem>
#include <system_error>

namespace octet {

/// Says whether something has that name, or a link of that name leads to something. What cannot be looked at counts as
/// not there; files::is_there (read_file.h) tells the two apart.
inline bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace octet

#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

namespace octet::checkpoint::test {

/// Where files go that need no disk: in memory, where there is room, since syncs to a disk take most of a test's time.
inline std::filesystem::path fast_folder() {
  std::error_code error;
  const std::filesystem::path memory = "/dev/shm";
  const std::filesystem::space_info space = std::filesystem::space(memory, error);
  const bool usable = !error && space.available >= (std::uintmax_t{512} << 20) && access(memory.c_str(), W_OK) == 0;
  return usable ? memory : std::filesystem::temp_directory_path();
}

using octet::test::error_of;
using octet::test::error_or_none;

/// A folder of the test's own, in memory where there is room.
class TemporaryDirectory : public octet::test::TempFolder {
 public:
  explicit TemporaryDirectory(const std::filesystem::path& in = fast_folder()) : TempFolder(in) {}
};

using Steps = std::vector<std::int64_t>;  ///< of checkpoints

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline void put_file(const std::string& path, const std::string& content = "content") {
  std::ofstream file(path, std::ios::binary);
  file << content << std::flush;
  if (!file) throw std::runtime_error("cannot write " + path);
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Inverts one bit.
inline void flip_bit(const std::string& path, std::int64_t byte, int bit = 0) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(byte);
  const int old = file.get();
  file.seekp(byte);
  file.put(static_cast<char>(old ^ (1 << bit)));
  if (!file) throw std::runtime_error("cannot change " + path);
}

}  // namespace octet::checkpoint::test

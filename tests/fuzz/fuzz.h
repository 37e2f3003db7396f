#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/files.h"

namespace octet::fuzz {

/// One reader of what comes from outside. libFuzzer calls `read` with changed copies of its seeds. It may throw
/// octet::Error, which is a refusal; anything else that it throws, and all that a sanitizer sees, is a finding.
struct Reader {
  const char* name;
  std::function<void(const std::string& text)> read;
  /// Texts that the reader takes, made of files that Octet has or writes.
  std::function<std::vector<std::string>()> seeds;
};

/// The readers of this program. The file of its room in this folder defines it.
const std::vector<Reader>& readers();

/// A file of the source tree.
inline std::string source_file(const std::string& path) {
  if (auto text = read_text_file(std::string(OCTET_SOURCE_DIR) + "/" + path)) return *std::move(text);
  throw std::runtime_error("tests/fuzz: no file " + path);
}

/// Each of these files of the source tree as a seed.
inline std::function<std::vector<std::string>()> files(std::vector<std::string> paths) {
  return [paths = std::move(paths)] {
    std::vector<std::string> texts;
    for (const auto& path : paths) texts.push_back(source_file(path));
    return texts;
  };
}

inline std::function<std::vector<std::string>()> texts(std::vector<std::string> all) {
  return [all = std::move(all)] { return all; };
}

/// The program's own folder, in memory; tests/fuzz/run.py makes and removes it.
inline const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    const char* given = std::getenv("OCTET_FUZZ_FOLDER");
    if (given == nullptr) throw std::runtime_error("tests/fuzz: OCTET_FUZZ_FOLDER is not set (run tests/fuzz/run.py)");
    return std::filesystem::path(given);
  }();
  return path;
}

/// Puts the text into a file of the program's folder, for readers that take a path. Returns the path.
inline std::string put(const std::string& name, std::string_view text) {
  const std::filesystem::path path = folder() / name;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) throw std::runtime_error("tests/fuzz: cannot write " + path.string());
  return path;
}

/// Throws, with the first line that differs, where a text that was written, read and written again has changed.
inline void expect_same(std::string_view once, std::string_view twice) {
  if (once == twice) return;
  std::size_t at = 0;
  while (at < once.size() && at < twice.size() && once[at] == twice[at]) ++at;
  const auto line = [at](std::string_view text) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return std::string(text.substr(begin, text.find('\n', at) - begin));
  };
  throw std::logic_error("written again it is another: \"" + line(once) + "\", then \"" + line(twice) + "\"");
}

}  // namespace octet::fuzz

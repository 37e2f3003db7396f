#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octet {

struct TextFile {
  std::string path;
  std::int64_t bytes = 0;
};

/// What a list of inputs holds, in the order in which it is read.
struct TextFiles {
  std::vector<TextFile> files;
  std::int64_t bytes = 0;
  /// What folders held and was left out: hidden files and folders, and what is no regular file (linked folders too).
  std::vector<std::string> skipped;
};

/// Finds the text of inputs, which are files or folders. A folder's files come recursively, sorted by path byte by
/// byte, so that every machine gets the same order. Usage error for an input that does not exist or cannot be read,
/// for a file that is given twice, and when there is no file at all.
TextFiles find_text_files(const std::vector<std::string>& inputs);

}  // namespace octet

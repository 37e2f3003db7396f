#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octet {

struct ListedFile {
  std::string path;
  std::int64_t bytes = 0;    ///< on the disk
  std::int64_t changed = 0;  ///< when, in ns since 1970
};

/// What a list of inputs holds, in the order in which it is read.
struct InputFiles {
  std::vector<ListedFile> files;
  std::int64_t bytes = 0;
  /// What folders held and was left out: hidden files and folders, and what is no regular file (linked folders too,
  /// also those that ** of a pattern met).
  std::vector<std::string> skipped;
};

/// Finds the files of inputs. An input is a file, a folder, a pattern (glob.h; a file whose name is that goes first) or
/// @LIST, a file with one such input a line, relative to where the program runs. A folder's files come recursively,
/// sorted by path byte by byte, so that every machine gets the same order. Usage error for an input that does not exist
/// or cannot be read, a pattern that nothing matches, a file that is given twice, and when there is no file at all.
/// Linked folders that were left out, and are no input themselves, are warned of: they may be half of a corpus.
InputFiles find_input_files(const std::vector<std::string>& inputs);

/// The file as it is now. Usage error where it cannot be read.
ListedFile look_at_file(const std::string& path);

}  // namespace octet

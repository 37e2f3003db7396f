#pragma once

#include <string>
#include <string_view>

#include "src/base/files.h"

namespace octet {

/// A file to which whole records are added, each written at once, so that a killed run keeps what it logged. What
/// cannot be written, for example on a full disk, stays in memory and is written before the next record: nothing is
/// missing once the disk has room again. The file holds no part of a record, with two exceptions: the record that a
/// killed process was writing, and one whose part the disk does not even let be removed, which the next write
/// completes.
class AppendedFile {
 public:
  /// Usage error when the file cannot be opened or made.
  explicit AppendedFile(std::string path);

  /// Throws internal_error with path and reason when the disk refuses; the record is kept.
  void add(std::string_view record);
  /// What was added, and the file's name, is on the disk when this returns. Throws internal_error when the disk
  /// refuses.
  void sync();

  const std::string& path() const { return path_; }

 private:
  void write_kept();

  std::string path_;
  FileHandle file_;
  std::string kept_;  ///< records that are not in the file
};

}  // namespace octet

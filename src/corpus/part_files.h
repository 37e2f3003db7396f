#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/files.h"
#include "src/corpus/making.h"

namespace octet {

/// Whether `octet prepare` writes a file of that name into a folder of parts (part_folder.h).
bool is_part_file(std::string_view name);

/// The folder in which parts are made, as it is on the disk. It is opened without following a link, and nothing is ever
/// removed from it but files that have names of `octet prepare`: the folder, or what lies in it, may be the user's.
class PartFiles {
 public:
  /// The folder of that path; nothing where nothing has the name. Usage error for a symbolic link and for what is no
  /// folder.
  static std::optional<PartFiles> find(const std::string& path);
  /// The same, which makes the folder where it is missing.
  static PartFiles make(const std::string& path);

  /// What making.json says, where `octet prepare` has written it.
  std::optional<Making> making() const;
  /// Keeps other processes out as long as this is there, by the file "lock". Usage error where another process has it,
  /// and for a folder with something in it and no making.json of `octet prepare`, which stays as it is.
  void claim();
  /// Sorted.
  std::vector<std::string> names() const;
  /// Removes the files of `octet prepare` but the lock and these. Says which it could not remove, with errno.
  std::vector<std::string> remove_files(const std::set<std::string>& but = {}) const;
  /// Removes the lock, and the folder if nothing else is left in it. False, with errno, where it stays.
  bool remove_folder();

 private:
  PartFiles(std::string path, FileHandle folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  bool take_lock(bool make);
  void refuse_foreign() const;

  std::string path_;
  FileHandle folder_, lock_{};
};

}  // namespace octet

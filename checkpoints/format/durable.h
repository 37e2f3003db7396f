#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet::checkpoint {

// Steps on the file system whose result survives a crash of the machine once the function has returned. Plain system
// calls, so that a test can count them and let them fail. Any thread. All throw internal_error with path and the
// system's reason.

/// Makes a directory whose parent exists. It must not exist. Its entry is durable after sync_directory of the parent.
void make_directory(const std::string& path);
/// Makes a directory and its missing parents, all durable. It may exist. Usage error where the path is wrong.
void make_directories(const std::string& path);
/// Makes a file that must not exist, writes and syncs it. Its entry is durable after sync_directory.
void write_file(const std::string& path, std::string_view content);
/// Makes the entries of a directory durable, where the file system can.
void sync_directory(const std::string& path);
/// Renames within one file system; `to` must not exist or be an empty directory. Syncs the parent of `to`.
void rename_durably(const std::string& from, const std::string& to);
/// The directory `from` takes the name `to` in one step. A directory `to` that exists is removed afterwards (it may
/// stay under the name `from` when that fails). A file `to` is an error.
void replace_directory(const std::string& from, const std::string& to);
/// A file or a directory with all that is in it; links are not followed. Nothing there is no error.
void remove_tree(const std::string& path);
/// Bytes that this user can still write to the file system of `path`.
std::int64_t free_bytes(const std::string& path);

/// The folders above a path that do not exist yet. The destructor removes those that were made meanwhile and are still
/// empty, unless keep() was called.
class NewParents {
 public:
  explicit NewParents(const std::string& path);
  ~NewParents();
  NewParents(const NewParents&) = delete;
  NewParents& operator=(const NewParents&) = delete;
  void keep() { missing_.clear(); }

 private:
  std::vector<std::string> missing_;  ///< the innermost first
};

/// A directory that comes into being whole or not at all: filled under the name PATH.tmp and renamed by commit(). What
/// was not committed is removed, with the folders above it that were made for it; a killed process leaves PATH.tmp,
/// which nobody takes for the directory.
class PendingDirectory {
 public:
  /// Makes PATH.tmp and missing folders above it. Usage error when PATH or PATH.tmp exists, internal error when the
  /// file system has not `bytes` to spare.
  PendingDirectory(const std::string& path, std::int64_t bytes);
  ~PendingDirectory();
  PendingDirectory(const PendingDirectory&) = delete;
  PendingDirectory& operator=(const PendingDirectory&) = delete;

  /// The folder to write to, PATH.tmp. Files in it are synced by who writes them.
  const std::string& temporary() const { return temporary_; }
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  NewParents parents_;
  bool committed_ = false;
};

}  // namespace octet::checkpoint

#pragma once

#include <cstdint>
#include <string>

namespace octet::checkpoint {

/// A directory that comes into being whole or not at all: filled under the name PATH.tmp and renamed by commit(). What
/// was not committed is removed; a killed process leaves PATH.tmp, which nobody takes for the directory.
class PendingDirectory {
 public:
  /// Makes PATH.tmp and missing folders above it. Usage error when PATH or PATH.tmp exists, internal error when the
  /// file system has not `bytes` to spare.
  PendingDirectory(std::string path, std::int64_t bytes);
  ~PendingDirectory();
  PendingDirectory(const PendingDirectory&) = delete;
  PendingDirectory& operator=(const PendingDirectory&) = delete;

  /// Where to write: PATH.tmp. Files in it are synced by who writes them.
  const std::string& temporary() const { return temporary_; }
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  bool committed_ = false;
};

}  // namespace octet::checkpoint

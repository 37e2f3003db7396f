#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "src/base/error.h"
#include "src/base/files.h"

namespace octet::files {

/// A part of a file, of which it may have less; by default all of it.
struct FileRange {
  std::int64_t offset = 0;
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
};

/// What tells a file from another one of the same name, and from what it was before a change, without reading it.
struct FileIdentity {
  std::int64_t bytes = 0;
  std::int64_t changed = 0;  ///< mtime, nanoseconds
  std::uint64_t device = 0, inode = 0;

  bool operator==(const FileIdentity&) const = default;
};
/// The identity of what is there under that name now; nothing where that cannot be looked at.
std::optional<FileIdentity> identity_of(const std::string& path);

/// The file system does not give what was asked of it, which says nothing about the stored data. A usage error for
/// ENOENT, ENAMETOOLONG and ENOTSUP (no regular file), an internal one otherwise (EIO, ESTALE, EACCES ...).
class ReadError : public Error {
 public:
  /// `error`: errno. `offset`: where in the file.
  ReadError(std::string path, int error, std::int64_t offset = 0);
  /// Words in place of errno, which is taken for EIO.
  ReadError(std::string path, const std::string& reason);

  const std::string& path() const { return path_; }
  int error() const { return error_; }
  const std::string& reason() const { return reason_; }
  std::int64_t offset() const { return offset_; }

 private:
  std::string path_;
  int error_;
  std::string reason_;
  std::int64_t offset_ = 0;
};

/// A file to read, opened once: whatever happens to its name meanwhile, this is one file.
class InputFile {
 public:
  /// Throws ReadError when it cannot be opened.
  explicit InputFile(std::string path);
  /// `file` is open under that name; it stays open.
  InputFile(std::string path, int file) : path_(std::move(path)), file_(file) {}

  /// Bytes; throws ReadError where the file cannot be looked at.
  std::int64_t size() const;
  /// Calls `each` with the blocks of the file in order, at most 1 MiB each, and returns how many bytes there were.
  /// Throws ReadError when it cannot be read.
  std::int64_t read_blocks(const std::function<void(std::span<const char>)>& each, const FileRange& range = {}) const;

 private:
  std::string path_;
  FileHandle own_;
  int file_ = -1;
};

/// Says whether something has that name, or a link of that name leads to something. Throws ReadError for what cannot be
/// looked at, which must not pass for what is not there.
bool is_there(const std::string& path);

/// All of a small file. Errors as above.
std::string read_file(const std::string& path);

/// Opens a folder, or reads a byte of a file. Throws ReadError.
void try_to_read(const std::string& path, std::int64_t offset = 0);

/// Thrown out of a read that shall end early.
struct ReadStopped {};

/// What a thread that reads files and the one that waits for it share.
class ReadProgress {
 public:
  /// The reader's: it has that many bytes more. Throws ReadStopped when it shall end.
  void add(std::int64_t bytes) {
    bytes_ += bytes;
    if (stop_) throw ReadStopped{};
  }

  /// The reader's: it begins with that file.
  void begin(const std::string& path) {
    const std::lock_guard lock(mutex_);
    path_ = path;
  }
  /// The file that was begun last.
  std::string path() const {
    const std::lock_guard lock(mutex_);
    return path_;
  }

  /// The reader's: of several files at a time one cannot be read. Others may still be at work, or hang.
  void fail(const ReadError& error) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = error;
  }
  /// The first of these.
  std::optional<ReadError> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  void stop() { stop_ = true; }
  void go_on() { stop_ = false; }
  bool stopped() const { return stop_; }
  /// The bytes read since it was made.
  std::int64_t bytes() const { return bytes_; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<std::int64_t> bytes_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::string path_;
  std::optional<ReadError> failure_;
};

/// Whether errno `error` of a read is for the user to correct: access is denied, or the name is too long.
bool is_refused(int error);

/// Whether a retry may succeed. It cannot where access is denied, where the name is invalid or no regular file, or
/// where the file is missing from a folder that exists. (A missing folder may be a mount that is late.)
bool may_pass(const ReadError& error);

/// Runs `work` again 0.5, 1 and 2 s later (times the factor OCTET_TEST_PAUSES, for tests) where it throws a ReadError,
/// with a warning of this rank each time; throws the last one. What cannot pass is asked for once. Throws ReadStopped
/// when it is stopped between two tries. Any thread.
void with_retries(ReadProgress& progress, const std::function<void()>& work);

}  // namespace octet::files

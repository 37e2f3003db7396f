#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/error.h"
#include "src/base/handle.h"

namespace octet {

/// Closes a POSIX file descriptor and leaves errno as it is. open's -1 is its null.
struct ClosedFile {
  using type = int;
  static int null() { return -1; }
  static void close(int file) noexcept {
    const int why = errno;
    ::close(file);
    errno = why;
  }
};
using FileHandle = Handle<ClosedFile>;

/// Closes a file to which something was written that nobody has synced. A network file system sends it only now, and
/// may find that a quota is full: false, with errno. Fit for a signal handler.
[[nodiscard]] bool close_file(FileHandle& file);

/// Opens a file to be written and makes it where it is missing, with the permissions that the user's umask leaves
/// (0666). `flags` are O_WRONLY or O_RDWR with O_APPEND, O_TRUNC or O_EXCL. A symbolic link of that name is not
/// followed (ELOOP), but for /dev/stdout and /dev/stderr: in a folder that others can write to it might lead anywhere.
/// Nor does it wait for the reader of a named pipe (ENXIO, as for a socket).
/// Null, with errno, where the system refuses. Fit for a signal handler.
FileHandle open_to_write(const char* path, int flags);

// The only places that write to files, but for what a program prints. A write of nothing, for which the system gives no
// reason, is a full disk on some file systems: it counts as ENOSPC. (C++'s streams try it again for ever.)
// All return false, with errno, where the system refuses; what was written until then stays. Any thread.

/// Writes to an open file at its current offset.
[[nodiscard]] bool write_all(int file, const void* data, std::size_t bytes);
[[nodiscard]] bool write_all(int file, std::string_view text);
/// Writes at an offset in bytes; the file's current offset does not change.
[[nodiscard]] bool write_all_at(int file, std::int64_t offset, const void* data, std::size_t bytes);

/// Writes to the end of the file at `path`, which is made if it is missing.
[[nodiscard]] bool append_text(const std::string& path, std::string_view text);
/// Replaces all that the file at `path` has, and makes the file if it is missing. A reader may see a part of the text
/// (replace_file.h avoids that).
[[nodiscard]] bool overwrite_text(const std::string& path, std::string_view text);

/// What to throw where a file cannot be written, right after the call that failed: "[room] WHAT: cannot be written:
/// REASON" with the reason in errno. A path that is wrong is a usage error (64); a full disk, a quota or a broken
/// device is the machine's fault (70).
Error not_written(std::string_view room, std::string_view what);
/// The same of a folder: "[room] FOLDER: cannot be made: REASON".
Error not_made(std::string_view room, std::string_view folder);
/// What the system says of errno `error`; of a full disk and of a quota also where to read what to do.
std::string why_not_written(int error);

/// Opens a file to be read that Octet or another program keeps: a regular file, or a link to one. Null, with errno,
/// where the system refuses, for a folder (EISDIR), and for what is neither (ENOTSUP), such as a pipe, which waits for
/// its writer, or a device that has no end.
FileHandle open_to_read(const char* path);
/// Why such a file could not be read, by errno, for a message.
std::string reason_not_read(int error);
/// What to throw where a file or folder cannot be read, right after the call that failed: "[room] WHAT: cannot be read:
/// REASON", and "; expected EXPECTED" behind it where that is given. A disk or a file server that fails, and a lack of
/// memory or of open files, is the machine's fault (70); all else is a usage error (64).
Error not_read(std::string_view room, std::string_view what, std::string_view expected = "");

constexpr std::size_t any_size = std::numeric_limits<std::size_t>::max();

/// All that such a file has; nothing, with errno, where it cannot be read, and where it has more than `most` bytes
/// (EFBIG).
std::optional<std::string> read_text_file(const std::string& path, std::size_t most = any_size);
/// The same; throws not_read where it cannot be read.
std::string text_of_file(std::string_view room, const std::string& path, std::string_view expected = "",
                         std::size_t most = any_size);
/// The same of a text that the user gives, which may come from a pipe, such as <(...) of a shell. One that nobody has
/// opened to write within `patience_seconds` is a usage error too.
std::string given_text(std::string_view room, const std::string& path, std::string_view expected = "",
                       std::size_t most = any_size, double patience_seconds = 10);

/// Waits until the entries of a folder are on the disk: the names of files that were made or renamed there. False, with
/// errno, where the system refuses; a file system that cannot sync folders, as some over a network, is no refusal.
[[nodiscard]] bool sync_folder(const std::string& path);
/// Syncs the folder that a file is in.
[[nodiscard]] bool sync_folder_of(const std::string& file);

/// Says whether the open file still has that name. It does not when it was removed, or when another file has the name
/// now.
[[nodiscard]] bool is_named(int file, const std::string& path);

/// Takes the lock (flock) of the open file of that name, which it keeps until the file is closed. It does not wait:
/// usage error, "[room] WHAT is being written by another process", where somebody has the lock, or has removed or
/// renamed the file meanwhile; another one where the file system has no locks.
void lock_to_write(std::string_view room, int file, const std::string& path, const std::string& what);

}  // namespace octet

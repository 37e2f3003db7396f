#include "src/base/files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "src/base/seconds_since.h"

namespace octet {
namespace {

/// `write_some` gets the bytes that are left and how many were written before, and returns as write does.
template <typename Write>
bool repeat(const void* data, std::size_t bytes, const Write& write_some) {
  const auto* const begin = static_cast<const char*>(data);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t written = write_some(begin + done, bytes - done, done);
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

bool write_to(const std::string& path, std::string_view text, int flags) {
  FileHandle file = open_to_write(path.c_str(), O_WRONLY | flags);
  return file && write_all(file.get(), text) && close_file(file);
}

/// Appends all that is left in the file. False, with errno, where it cannot be read and where it is more than `most`.
bool read_to_end(int file, std::size_t most, std::string& text) {
  std::array<char, 1 << 14> block;
  for (;;) {
    const ssize_t got = ::read(file, block.data(), block.size());
    if (got == 0) return true;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() <= most) continue;
    errno = EFBIG;
    return false;
  }
}

/// Waits until somebody opens the pipe for writing; it was opened for reading without waiting for a writer. False, with
/// errno, where nobody does. A byte that is read while waiting is appended to `text`.
bool await_writer(int pipe, double patience_seconds, std::string& text) {
  const auto begin = std::chrono::steady_clock::now();
  while (seconds_since(begin) < patience_seconds) {
    char byte = 0;
    const ssize_t got = ::read(pipe, &byte, 1);
    if (got > 0) text += byte;
    if (got > 0 || (got < 0 && errno == EAGAIN)) return true;
    if (got < 0 && errno != EINTR) return false;
    pollfd asked{.fd = pipe, .events = POLLIN, .revents = 0};
    if (::poll(&asked, 1, 50) > 0) return true;  // one has come, or has been there and left
  }
  errno = EPIPE;
  return false;
}

bool read_given(int file, double patience_seconds, std::size_t most, std::string& text) {
  struct stat there {};
  if (::fstat(file, &there) != 0) return false;
  if (S_ISFIFO(there.st_mode) && !await_writer(file, patience_seconds, text)) return false;
  return ::fcntl(file, F_SETFL, 0) == 0 && read_to_end(file, most, text);
}

/// Whether the error comes from a wrong path. Any other error of a write is the machine's fault.
bool is_of_path(int error) {
  constexpr std::array wrong = {EACCES, EPERM, ENOENT, EEXIST, ENOTDIR, EISDIR, ELOOP, ENXIO, ENAMETOOLONG, ETXTBSY};
  return std::ranges::find(wrong, error) != wrong.end();
}

/// Errors of a disk, of a file server or the network to it, and of a machine that is out of memory or open files.
constexpr std::array failures_of_machine = {EIO,          ESTALE,     ENOMEM,       EMFILE,       ENFILE,   ETIMEDOUT,
                                            EREMOTEIO,    ENODEV,     ENOBUFS,      EUCLEAN,      EBADMSG,  ENOLINK,
                                            ECOMM,        EPROTO,     EHOSTDOWN,    EHOSTUNREACH, ENETDOWN, ENETUNREACH,
                                            ECONNREFUSED, ECONNRESET, ECONNABORTED, ENOTCONN,     ESHUTDOWN};

std::string text_or_throw(std::optional<std::string> text, std::string_view room, const std::string& path,
                          std::string_view expected) {
  if (text) return *std::move(text);
  throw not_read(room, path, expected);
}

}  // namespace

bool close_file(FileHandle& file) {
  return ::close(file.release()) == 0 || errno == EINTR;  // which closes it, too
}

FileHandle open_to_write(const char* path, int flags) {
  // Links of the system's own.
  const bool follow = std::strcmp(path, "/dev/stdout") == 0 || std::strcmp(path, "/dev/stderr") == 0;
  const int all_flags = flags | O_CREAT | (follow ? 0 : O_NOFOLLOW) | O_CLOEXEC;
  // Not blocking, since opening a named pipe would wait for its reader (ENXIO: there is none).
  FileHandle file(::open(path, all_flags | O_NONBLOCK, 0666));
  if (file) ::fcntl(file.get(), F_SETFL, flags & O_APPEND);
  if (!file && errno == EWOULDBLOCK) file.reset(::open(path, all_flags, 0666));  // somebody has a lease of it
  return file;
}

std::string why_not_written(int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  return fmt::format("{}{}", std::strerror(error), full ? " (docs/problems.md, \"The disk is full\")" : "");
}

Error not_written(std::string_view room, std::string_view what) {
  const int why = errno;
  if (why == ENOTSUP) {  // of can_replace_file
    return usage_error(room, "{}: cannot be written: {}", what,
                       "it is no file that could be replaced by a whole one; expected the name of a file");
  }
  if (!is_of_path(why)) return internal_error(room, "{}: cannot be written: {}", what, why_not_written(why));
  if (why == ELOOP) return usage_error(room, "{}: cannot be written: {}", what, "a symbolic link is not followed");
  if (why == ENXIO)
    return usage_error(room, "{}: cannot be written: {}", what, "a pipe that nobody reads, or a socket");
  return usage_error(room, "{}: cannot be written: {}", what, std::strerror(why));
}

Error not_made(std::string_view room, std::string_view folder) {
  const int why = errno;
  if (!is_of_path(why)) return internal_error(room, "{}: cannot be made: {}", folder, why_not_written(why));
  return usage_error(room, "{}: cannot be made: {}", folder, std::strerror(why));
}

bool write_all(int file, const void* data, std::size_t bytes) {
  return repeat(data, bytes,
                [&](const char* from, std::size_t left, std::size_t) { return ::write(file, from, left); });
}

bool write_all(int file, std::string_view text) {
  return write_all(file, text.data(), text.size());
}

bool write_all_at(int file, std::int64_t offset, const void* data, std::size_t bytes) {
  return repeat(data, bytes, [&](const char* from, std::size_t left, std::size_t done) {
    return ::pwrite(file, from, left, offset + static_cast<std::int64_t>(done));
  });
}

bool append_text(const std::string& path, std::string_view text) {
  return write_to(path, text, O_APPEND);
}

bool overwrite_text(const std::string& path, std::string_view text) {
  return write_to(path, text, O_TRUNC);
}

FileHandle open_to_read(const char* path) {
  // Not blocking, since opening a named pipe would wait for its writer. A file that somebody has a lease of, or that
  // is kept on tape, is not there at once.
  FileHandle file(::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat there {};
  if (!file && errno == EWOULDBLOCK && ::stat(path, &there) == 0 && S_ISREG(there.st_mode)) {
    file.reset(::open(path, O_RDONLY | O_CLOEXEC));
  }
  if (!file && errno == ENXIO) errno = ENOTSUP;  // a socket
  if (!file || ::fstat(file.get(), &there) != 0) return {};
  if (S_ISREG(there.st_mode)) {
    ::fcntl(file.get(), F_SETFL, 0);
    return file;
  }
  file.reset();
  errno = S_ISDIR(there.st_mode) ? EISDIR : ENOTSUP;
  return file;
}

std::string reason_not_read(int error) {
  if (error == ENOTSUP) return "it is no regular file";
  if (error == EPIPE) return "nobody writes to this pipe";  // of given_text
  return std::strerror(error);
}

Error not_read(std::string_view room, std::string_view what, std::string_view expected) {
  const int why = errno;
  const bool of_machine = std::ranges::find(failures_of_machine, why) != failures_of_machine.end();
  return {of_machine ? ExitCode::internal : ExitCode::usage,
          fmt::format("[{}] {}: cannot be read: {}{}{}", room, what, reason_not_read(why),
                      expected.empty() ? "" : "; expected ", expected)};
}

std::optional<std::string> read_text_file(const std::string& path, std::size_t most) {
  const FileHandle file = open_to_read(path.c_str());
  std::string text;
  return file && read_to_end(file.get(), most, text) ? std::optional(std::move(text)) : std::nullopt;
}

std::string text_of_file(std::string_view room, const std::string& path, std::string_view expected, std::size_t most) {
  return text_or_throw(read_text_file(path, most), room, path, expected);
}

std::string given_text(std::string_view room, const std::string& path, std::string_view expected, std::size_t most,
                       double patience_seconds) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::string text;
  const bool is_read = file && read_given(file.get(), patience_seconds, most, text);
  return text_or_throw(is_read ? std::optional(std::move(text)) : std::nullopt, room, path, expected);
}

bool sync_folder(const std::string& path) {
  const FileHandle folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return false;
  return ::fsync(folder.get()) == 0 || errno == EINVAL;
}

bool sync_folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return sync_folder(folder.empty() ? "." : folder.string());
}

bool is_named(int file, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(file, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

void lock_to_write(std::string_view room, int file, const std::string& path, const std::string& what) {
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
    if (is_named(file, path)) return;
  } else if (errno != EWOULDBLOCK) {
    throw usage_error(room,
                      "{}: cannot be locked: {}; expected a file system with flock, such as Lustre mounted with -o "
                      "flock, since two programs that write here would mix what they write",
                      path, std::strerror(errno));
  }
  throw usage_error(room, "{} is being written by another process", what);
}

}  // namespace octet

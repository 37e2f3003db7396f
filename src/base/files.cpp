#include "src/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

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
  const FileHandle file = open_to_write(path.c_str(), O_WRONLY | flags);
  return file && write_all(file.get(), text);
}

}  // namespace

FileHandle open_to_write(const char* path, int flags) {
  // Links of the system's own.
  const bool follow = std::strcmp(path, "/dev/stdout") == 0 || std::strcmp(path, "/dev/stderr") == 0;
  return FileHandle(::open(path, flags | O_CREAT | (follow ? 0 : O_NOFOLLOW) | O_CLOEXEC, 0666));
}

Error not_written(std::string_view room, std::string_view what) {
  const int why = errno;
  constexpr std::array wrong_paths = {EACCES, EPERM, ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, ETXTBSY};
  if (why == ENOTSUP) {  // of can_replace_file
    return usage_error(room, "{}: cannot be written: {}", what,
                       "it is no file that could be replaced by a whole one; expected the name of a file");
  }
  if (std::ranges::find(wrong_paths, why) == wrong_paths.end()) {
    const bool full = why == ENOSPC || why == EDQUOT;
    return internal_error(room, "{}: cannot be written: {}{}", what, std::strerror(why),
                          full ? " (docs/problems.md, \"The disk is full\")" : "");
  }
  if (why == ELOOP) return usage_error(room, "{}: cannot be written: {}", what, "a symbolic link is not followed");
  return usage_error(room, "{}: cannot be written: {}", what, std::strerror(why));
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

std::optional<std::string> read_text_file(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  std::array<char, 1 << 14> block;
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got == 0) return text;
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return std::nullopt;
  }
}

std::string text_of_file(std::string_view room, const std::string& path, std::string_view expected) {
  if (auto text = read_text_file(path)) return *std::move(text);
  const char* reason = std::strerror(errno);
  throw usage_error(room, "{}: cannot be read: {}{}{}", path, reason, expected.empty() ? "" : "; expected ", expected);
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

}  // namespace octet

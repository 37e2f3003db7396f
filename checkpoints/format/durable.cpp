#include "checkpoints/format/durable.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "checkpoints/format/names.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/progress.h"

namespace octet::checkpoint {
namespace {

Error failed(const std::string& path, const std::string& what, int reason) {
  return internal_error("checkpoints", "{}: {}: {}", path, what, why_not_written(reason));
}
Error failed(const std::string& path, const char* what) {
  return failed(path, what, errno);
}

void sync(const FileHandle& opened, const std::string& path) {
  if (fsync(opened.get()) != 0) throw failed(path, "cannot be synced");
}

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// Both names exist and change places. False where the file system cannot.
bool exchange(const std::string& a, const std::string& b) {
  if (renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS) return false;
  throw failed(b, "cannot be replaced");
}

/// What was in the way is of no use to anybody any more: not being able to remove it is no failure of the new one.
void remove_replaced(const std::string& path) {
  try {
    remove_tree(path);
  } catch (const Error& error) {
    log::warning("{} (a checkpoint that was replaced stays there)", error.what());
  }
}

}  // namespace

void make_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0777) != 0) throw failed(path, "cannot be made");
}

void make_directories(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return;
  const std::string parent = parent_of(path);
  if (parent != path) make_directories(parent);
  // Another process may have been faster.
  if (mkdir(path.c_str(), 0777) != 0 && !(errno == EEXIST && is_directory(path))) throw not_made("checkpoints", path);
  sync_directory(parent);
}

void write_file(const std::string& path, std::string_view content) {
  const FileHandle file = open_to_write(path.c_str(), O_WRONLY | O_EXCL);
  if (!file) throw failed(path, "cannot be opened");
  if (!write_all(file.get(), content)) throw failed(path, "cannot be written");
  sync(file, path);
}

void sync_directory(const std::string& path) {
  if (!sync_folder(path)) throw failed(path, "cannot be synced");
}

void rename_durably(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    const int reason = errno;
    throw failed(from, "cannot be renamed to " + to, reason);
  }
  sync_directory(parent_of(to));
}

void replace_directory(const std::string& from, const std::string& to) {
  struct stat info {};
  if (lstat(to.c_str(), &info) != 0) return rename_durably(from, to);
  if (!S_ISDIR(info.st_mode)) {
    throw internal_error("checkpoints", "{}: is in the way: found a file, expected nothing or a directory", to);
  }
  if (exchange(from, to)) {
    sync_directory(parent_of(to));
    return remove_replaced(from);
  }
  // A leftover to be removed, if this ends here.
  const std::string aside = fmt::format("{}.replaced{}", from, unfinished_suffix);
  remove_tree(aside);
  rename_durably(to, aside);
  rename_durably(from, to);
  remove_replaced(aside);
}

void remove_tree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);  // opens folders so that one that becomes a link meanwhile is not followed
  if (error) throw failed(path, "cannot be removed with all that is in it", error.value());
}

std::int64_t free_bytes(const std::string& path) {
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) != 0) {
    throw internal_error("checkpoints", "{}: free space cannot be read: {}", path, std::strerror(errno));
  }
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

namespace {

namespace fs = std::filesystem;

/// "a/b/" and "a/./b" name "a/b", whose name with .tmp behind it stands in the same folder.
std::string plain(const std::string& path) {
  fs::path p = fs::path(path).lexically_normal();
  if (p.filename().empty()) p = p.parent_path();
  if (p.filename().empty() || p.filename() == "." || p.filename() == "..") {
    throw usage_error("checkpoints", "{}: is no name for a new folder", path);
  }
  return p;
}

/// A link that leads nowhere takes its name too.
bool is_taken(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

}  // namespace

NewParents::NewParents(const std::string& path) {
  for (std::string above = parent_of(path); !is_taken(above); above = parent_of(above)) missing_.push_back(above);
}

NewParents::~NewParents() {
  for (const std::string& folder : missing_) {
    if (rmdir(folder.c_str()) != 0) return;  // not made, or not empty
  }
}

PendingDirectory::PendingDirectory(const std::string& path, std::int64_t bytes)
    : path_(plain(path)), temporary_(fmt::format("{}{}", path_, unfinished_suffix)), parents_(path_) {
  if (is_taken(path_)) throw usage_error("checkpoints", "{}: exists; expected the name of a new folder", path_);
  if (is_taken(temporary_)) {
    throw usage_error("checkpoints", "{}: exists, left by a run that did not finish or still goes on; remove it",
                      temporary_);
  }
  make_directories(parent_of(path_));
  const std::int64_t free = free_bytes(parent_of(path_));
  if (free < bytes) {
    throw internal_error("checkpoints",
                         "{}: needs {}, but its file system has {} to spare (docs/problems.md, \"The disk is full\")",
                         path_, format_bytes(bytes), format_bytes(free));
  }
  make_directory(temporary_);
}

PendingDirectory::~PendingDirectory() {
  if (committed_) return;
  try {
    remove_tree(temporary_);
  } catch (const std::exception& error) {
    log::warning("{} could not be removed: {}", temporary_, error.what());
  }
}

void PendingDirectory::commit() {
  sync_directory(temporary_);
  // A rename would replace an empty folder that was made meanwhile.
  if (is_taken(path_)) throw usage_error("checkpoints", "{}: was made by someone else meanwhile", path_);
  rename_durably(temporary_, path_);
  committed_ = true;
  parents_.keep();
}

}  // namespace octet::checkpoint

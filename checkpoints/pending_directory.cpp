#include "checkpoints/pending_directory.h"

#include <filesystem>

#include "checkpoints/durable.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/progress.h"

namespace octet::checkpoint {
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

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

std::string parent_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace

PendingDirectory::PendingDirectory(std::string path, std::int64_t bytes)
    : path_(plain(path)), temporary_(path_ + ".tmp") {
  if (is_there(path_)) throw usage_error("checkpoints", "{}: exists; expected the name of a new folder", path_);
  if (is_there(temporary_)) {
    throw usage_error("checkpoints", "{}: exists, left by a run that did not finish or still goes on; remove it",
                      temporary_);
  }
  make_directories(parent_of(path_));
  const std::int64_t free = free_bytes(parent_of(path_));
  if (free < bytes) {
    throw internal_error("checkpoints", "{}: needs {}, but its file system has {} to spare", path_, format_bytes(bytes),
                         format_bytes(free));
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
  if (is_there(path_)) throw usage_error("checkpoints", "{}: was made by someone else meanwhile", path_);
  rename_durably(temporary_, path_);
  committed_ = true;
}

}  // namespace octet::checkpoint

#include "src/metrics/appended_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "src/base/error.h"

namespace octet {
namespace {

std::size_t bytes_behind(int file, off_t begin) {
  const off_t end = ::lseek(file, 0, SEEK_END);
  return end > begin ? static_cast<std::size_t>(end - begin) : 0;
}

}  // namespace

AppendedFile::AppendedFile(std::string path)
    : path_(std::move(path)), file_(open_to_write(path_.c_str(), O_WRONLY | O_APPEND)) {
  if (!file_) throw not_written("metrics", path_);
}

void AppendedFile::add(std::string_view record) {
  kept_ += record;
  write_kept();
}

void AppendedFile::write_kept() {
  if (kept_.empty()) return;
  const off_t end = ::lseek(file_.get(), 0, SEEK_END);
  if (!write_all(file_.get(), kept_)) {
    const int reason = errno;
    // Where the file cannot be cut either, the part of a record that it has stays, and the next write adds the rest.
    if (::ftruncate(file_.get(), end) != 0) kept_.erase(0, bytes_behind(file_.get(), end));
    throw internal_error("metrics", "{}: cannot be written: {}", path_, why_not_written(reason));
  }
  kept_.clear();
}

void AppendedFile::sync() {
  write_kept();
  if (!is_named(file_.get(), path_)) {
    throw internal_error("metrics", "{}: was removed or replaced by somebody else while the run writes it", path_);
  }
  if (::fsync(file_.get()) != 0 || !sync_folder_of(path_)) {
    throw internal_error("metrics", "{}: cannot be flushed to disk: {}", path_, why_not_written(errno));
  }
}

}  // namespace octet

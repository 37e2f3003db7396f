#include "src/metrics/appended_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "src/base/error.h"

namespace octet {

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
    [[maybe_unused]] const int cut = ::ftruncate(file_.get(), end);  // where that fails too, a part is all there is
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

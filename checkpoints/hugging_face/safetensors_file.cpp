#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "checkpoints/hugging_face/safetensors.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/lfs_pointer.h"
#include "src/base/read_file.h"

namespace octet::checkpoint {
namespace {

constexpr std::int64_t length_bytes = 8;
constexpr std::int64_t longest_header = 100'000'000;  // as the reference implementation

Error not_written_to(const std::string& path, const char* what) {
  return internal_error("checkpoints", "{}: {}: {}", path, what, why_not_written(errno));
}

void read_at(int file, std::int64_t offset, std::int64_t bytes, void* to, const std::string& path) {
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = pread(file, out, static_cast<std::size_t>(bytes), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw files::ReadError(path, errno, offset);
    if (n == 0) throw files::ReadError(path, fmt::format("ends at byte {}: it was cut while it was read", offset));
    out += n;
    offset += n;
    bytes -= n;
  }
}

/// An error for what the file's first bytes say to be no safetensors file.
Error bad_header(int file, std::int64_t size, std::uint64_t length, const std::string& path) {
  std::string begin(static_cast<std::size_t>(std::min<std::int64_t>(size, 256)), '\0');
  read_at(file, 0, static_cast<std::int64_t>(begin.size()), begin.data(), path);
  refuse_lfs_pointer(begin, "checkpoints", path);
  return usage_error("checkpoints", "{}: a header of {} bytes in a file of {} (at most {}): no safetensors file", path,
                     length, size, longest_header);
}

std::int64_t regular_size(int file, const std::string& path) {
  struct stat info {};
  if (fstat(file, &info) != 0) throw files::ReadError(path, errno);
  if (!S_ISREG(info.st_mode)) throw usage_error("checkpoints", "{}: is no file", path);
  return info.st_size;
}

}  // namespace

SafetensorsReader::SafetensorsReader(std::string path) : path_(std::move(path)), file_(open_to_read(path_.c_str())) {
  if (!file_ && (errno == EISDIR || errno == ENOTSUP)) throw usage_error("checkpoints", "{}: is no file", path_);
  if (!file_ && errno == ENOENT) {
    throw usage_error("checkpoints", "{}: cannot be opened: {}", path_, std::strerror(errno));
  }
  if (!file_) throw files::ReadError(path_, errno);
  const std::int64_t size = regular_size(file_.get(), path_);
  if (size < length_bytes) {
    throw usage_error("checkpoints", "{}: {} bytes are too few for a safetensors file", path_, size);
  }
  std::uint64_t length = 0;
  read_at(file_.get(), 0, length_bytes, &length, path_);
  if (length > static_cast<std::uint64_t>(std::min(size - length_bytes, longest_header))) {
    throw bad_header(file_.get(), size, length, path_);
  }
  std::string json(static_cast<std::size_t>(length), '\0');
  data_begin_ = length_bytes + static_cast<std::int64_t>(length);
  read_at(file_.get(), length_bytes, data_begin_ - length_bytes, json.data(), path_);
  header_ = parse_safetensors_header(json, size - data_begin_, path_);
}

void SafetensorsReader::read(const SafetensorsEntry& tensor, std::int64_t first, std::int64_t bytes, void* to) const {
  if (first < 0 || bytes < 0 || bytes > tensor.bytes() - first) {
    throw internal_error("checkpoints", "{}: bytes {} + {} of tensor {}, which has {}", path_, first, bytes,
                         tensor.name, tensor.bytes());
  }
  read_at(file_.get(), data_begin_ + tensor.begin + first, bytes, to, path_);
}

SafetensorsWriter::SafetensorsWriter(std::string path, const SafetensorsHeader& header)
    : path_(std::move(path)),
      file_(open_to_write(path_.c_str(), O_WRONLY | O_EXCL)),
      left_(header.tensors.empty() ? 0 : header.tensors.back().end) {
  if (!file_) throw not_written_to(path_, "cannot be made");
  const std::string text = format_safetensors_header(header);
  if (!write_all(file_.get(), text)) throw not_written_to(path_, "cannot be written");
}

void SafetensorsWriter::append(const void* data, std::int64_t bytes) {
  if (bytes > left_) throw internal_error("checkpoints", "{}: {} bytes too many", path_, bytes - left_);
  if (!write_all(file_.get(), data, static_cast<std::size_t>(bytes))) throw not_written_to(path_, "cannot be written");
  left_ -= bytes;
}

void SafetensorsWriter::finish() {
  if (left_ != 0) throw internal_error("checkpoints", "{}: {} bytes are missing", path_, left_);
  if (fsync(file_.get()) != 0) throw not_written_to(path_, "cannot be synced");
  file_.reset();
}

}  // namespace octet::checkpoint

#include "src/base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>

#include "src/base/log.h"

namespace octet::files {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;  // stays in a cache between read and hash

}  // namespace

ReadError::ReadError(std::string path, int error, std::int64_t offset)
    : Error(error == ENOENT || error == ENAMETOOLONG || error == ENOTSUP ? ExitCode::usage : ExitCode::internal,
            fmt::format("[files] cannot read {}: {}", path, reason_not_read(error))),
      path_(std::move(path)),
      error_(error),
      reason_(reason_not_read(error)),
      offset_(offset) {}

ReadError::ReadError(std::string path, const std::string& reason)
    : Error(ExitCode::internal, fmt::format("[files] cannot read {}: {}", path, reason)),
      path_(std::move(path)),
      error_(EIO),
      reason_(reason) {}

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileIdentity{.bytes = info.st_size,
                      .changed = info.st_mtim.tv_sec * std::int64_t{1'000'000'000} + info.st_mtim.tv_nsec,
                      .device = info.st_dev,
                      .inode = info.st_ino};
}

InputFile::InputFile(std::string path) : path_(std::move(path)), own_(open_to_read(path_.c_str())), file_(own_.get()) {
  if (!own_) throw ReadError(path_, errno);
}

std::int64_t InputFile::size() const {
  struct stat info {};
  if (::fstat(file_, &info) != 0) throw ReadError(path_, errno);
  return info.st_size;
}

std::int64_t InputFile::read_blocks(const std::function<void(std::span<const char>)>& each,
                                    const FileRange& range) const {
  ::posix_fadvise(file_, 0, 0, POSIX_FADV_SEQUENTIAL);
  const auto block = std::make_unique_for_overwrite<char[]>(block_bytes);
  for (std::int64_t bytes = 0;;) {
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(block_bytes, range.bytes - bytes));
    const ssize_t got = ::pread(file_, block.get(), most, range.offset + bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw ReadError(path_, errno, range.offset + bytes);
    if (got == 0) return bytes;
    each({block.get(), static_cast<std::size_t>(got)});
    bytes += got;
  }
}

bool is_there(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::status_known(status)) return std::filesystem::exists(status);
  throw ReadError(path, error.value());
}

std::string read_file(const std::string& path) {
  std::string text;
  InputFile(path).read_blocks([&](std::span<const char> block) { text.append(block.data(), block.size()); });
  return text;
}

void try_to_read(const std::string& path, std::int64_t offset) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) throw ReadError(path, errno);
  if (!S_ISDIR(info.st_mode)) {
    // Not a pipe, which would wait for its writer.
    if (S_ISREG(info.st_mode)) InputFile(path).read_blocks([](std::span<const char>) {}, {offset, 1});
    return;
  }
  std::error_code error;
  const std::filesystem::directory_iterator entries(path, error);
  if (error) throw ReadError(path, error.value());
}

namespace {

using std::chrono::milliseconds;

constexpr std::array pauses{milliseconds(500), milliseconds(1000), milliseconds(2000)};

/// Shorter for tests, which have no file system that needs the time.
milliseconds shortened(milliseconds pause) {
  const char* for_tests = std::getenv("OCTET_TEST_PAUSES");
  const double factor = for_tests == nullptr ? 0 : std::atof(for_tests);
  return factor > 0 ? milliseconds(static_cast<int>(static_cast<double>(pause.count()) * factor)) : pause;
}

void pause(milliseconds length, ReadProgress& progress) {
  for (milliseconds slept{}; slept < length; slept += milliseconds(50)) {
    progress.add(0);
    std::this_thread::sleep_for(milliseconds(50));
  }
}

}  // namespace

bool is_refused(int error) {
  return error == EACCES || error == EPERM || error == ENAMETOOLONG;
}

bool may_pass(const ReadError& error) {
  if (is_refused(error.error()) || error.error() == ENOTSUP) return false;
  if (error.error() != ENOENT) return true;
  std::error_code ignored;
  return !std::filesystem::is_directory(std::filesystem::path(error.path()).parent_path() / ".", ignored);
}

void with_retries(ReadProgress& progress, const std::function<void()>& work) {
  for (const milliseconds full : pauses) {
    const milliseconds length = shortened(full);
    try {
      return work();
    } catch (const ReadError& error) {
      if (!may_pass(error)) throw;
      log::write_of_rank(log::Level::warning, fmt::format("{}; tried again in {} s", error.what(),
                                                          static_cast<double>(length.count()) / 1000));
    }
    pause(length, progress);
  }
  try {
    work();
  } catch (const ReadError& error) {
    log::write_of_rank(log::Level::warning, fmt::format("{}; given up", error.what()));
    throw;
  }
}

}  // namespace octet::files

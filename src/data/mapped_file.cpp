#include "src/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/heartbeat.h"
#include "src/base/mapped_regions.h"
#include "src/base/read_file.h"

namespace octet {

void throw_not_given(const char* what, const std::string& path, int error) {
  for (const int of_path : {ENOENT, ENOTDIR, EACCES, EPERM, ENAMETOOLONG, ELOOP, ENXIO}) {
    if (error == of_path) throw usage_error("data", "cannot {} {}: {}", what, path, std::strerror(error));
  }
  throw files::ReadError(path, error);
}

MappedFile::MappedFile(const std::string& path) {
  heartbeat::begin("opening of token data");
  // Not blocking: opening a named pipe would wait for its writer.
  const FileHandle opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened) throw_not_given("open", path, errno);
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) throw_not_given("read", path, errno);
  if (!S_ISREG(status.st_mode)) throw usage_error("data", "{} is not a regular file", path);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // nothing to map, and mmap refuses it
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, opened.get(), 0);
  if (at == MAP_FAILED) throw_not_given("map", path, errno);
  bytes_ = {static_cast<const std::uint8_t*>(at), size};
  region_ = mapped_regions::add(at, size, path);
}

MappedFile::~MappedFile() {
  mapped_regions::remove(region_);
  if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace octet

#include "src/comm/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/device/buffer.h"

namespace octet {
namespace {

/// What a rank tells the others of its part: a file without a name, which they open through /proc.
struct Offer {
  std::int64_t process = 0;
  std::int64_t file = -1;
  std::int64_t device = 0;  ///< with `inode`: whether what was opened is what was meant
  std::int64_t inode = 0;
  std::int64_t bytes = 0;
};

/// `mine` of every rank of the group, through memory of the stream's device, as every exchange.
template <typename T>
std::vector<T> gather(const T& mine, Communicator& group) {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
  Stream& stream = group.stream();
  Device& device = stream.device();
  const Buffer all(device, bytes * group.size(), Purpose::communication);
  char* const own = all.as<char>() + bytes * group.rank();
  device.copy_from_host(own, &mine, bytes, stream);
  group.all_gather(own, all.data(), bytes, DType::u8);
  std::vector<T> host(static_cast<std::size_t>(group.size()));
  device.copy_to_host(host.data(), all.data(), all.bytes(), stream);
  stream.synchronize();
  return host;
}

/// Gives a file its pages; the error's number. In steps: one that a signal interrupts begins anew, and with signals
/// that come at intervals, a profiler's for one, the whole might never end.
int allocate(int file, std::int64_t bytes) {
  constexpr std::int64_t step = 4 << 20;
  for (std::int64_t done = 0; done < bytes;) {
    const std::int64_t length = std::min(step, bytes - done);
    const int error = ::posix_fallocate(file, done, length);
    if (error == 0) done += length;
    if (error != 0 && error != EINTR) return error;
  }
  return 0;
}

/// Makes the file with all its pages, so that the first copy into it does not have to. The error's number.
int make_part(std::int64_t bytes, FileHandle& file, Offer& offer) {
  offer.bytes = bytes;
  if (bytes == 0) return 0;
  file.reset(::memfd_create("octet", MFD_CLOEXEC));
  if (!file) return errno;
  if (const int error = allocate(file.get(), bytes); error != 0) return error;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return errno;
  offer.process = ::getpid();
  offer.file = file.get();
  offer.device = static_cast<std::int64_t>(status.st_dev);
  offer.inode = static_cast<std::int64_t>(status.st_ino);
  return 0;
}

/// Maps what a rank offers. The error's number.
int map_part(const Offer& offer, void*& memory) {
  if (offer.file < 0) return 0;  // nothing, or that rank says why
  const std::string path = fmt::format("/proc/{}/fd/{}", offer.process, offer.file);
  const FileHandle file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return errno;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return errno;
  if (static_cast<std::int64_t>(status.st_dev) != offer.device ||
      static_cast<std::int64_t>(status.st_ino) != offer.inode) {
    return ESTALE;
  }
  memory = ::mmap(nullptr, static_cast<std::size_t>(offer.bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                  file.get(), 0);
  return memory == MAP_FAILED ? errno : 0;
}

}  // namespace

void SharedMemory::Unmap::operator()(char* memory) const noexcept {
  ::munmap(memory, bytes);
}

SharedMemory::SharedMemory(Communicator& node, std::int64_t bytes) {
  FileHandle file;
  Offer mine;
  int error = make_part(bytes, file, mine);
  const std::vector<Offer> offers = gather(mine, node);
  for (const Offer& offer : offers) {
    void* memory = nullptr;
    const int failed = map_part(offer, memory);
    if (failed == 0) parts_.emplace_back(static_cast<char*>(memory), Unmap{static_cast<std::size_t>(offer.bytes)});
    if (error == 0) error = failed;
    bytes_.push_back(offer.bytes);
  }
  // All have opened what they need before anyone closes, and all know who failed.
  const std::vector<int> errors = gather(error, node);
  const auto failed = std::ranges::find_if(errors, [](int e) { return e != 0; });
  if (failed == errors.end()) return;
  throw internal_error("comm", "rank {} of group {} cannot share {} bytes of memory with the others of its node: {}",
                       failed - errors.begin(), node.name(),
                       offers[static_cast<std::size_t>(failed - errors.begin())].bytes, std::strerror(*failed));
}

}  // namespace octet

#include "src/comm/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "src/base/error.h"
#include "src/base/files.h"

namespace octet {
namespace {

/// Allocates the pages of a file; returns the error's number. In steps, since a call that a signal interrupts has to be
/// repeated: with signals at short intervals, as from a profiler, one call for all pages might never end.
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

/// What helps against an error that says too little.
const char* hint_for(int error) {
  if (error != EACCES) return "";
  return "; between user namespaces the kernel refuses this, and apptainer makes a namespace for each rank: with "
         "container.options: [--sharens] the ranks of a node have one in common, and with checkpoint.writers_per_node: "
         "all no memory is shared";
}

}  // namespace

void SharedMemory::Unmap::operator()(char* memory) const noexcept {
  ::munmap(memory, bytes);
}

SharedMemory::SharedMemory(Communicator& node)
    : node_(&node),
      offers_(static_cast<std::size_t>(node.size())),
      errors_(offers_.size()),
      gathered_(node.stream().device(), static_cast<std::int64_t>(offers_.size() * sizeof(Offer)),
                Purpose::communication) {
  parts_.reserve(offers_.size());
}

template <typename T>
void SharedMemory::gather(const T& mine, std::vector<T>& of_all) {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
  Stream& stream = node_->stream();
  Device& device = stream.device();
  char* const own = gathered_.as<char>() + bytes * node_->rank();
  device.copy_from_host(own, &mine, bytes, stream);
  node_->all_gather(own, gathered_.data(), bytes, DType::u8);
  device.copy_to_host(of_all.data(), gathered_.data(), bytes * node_->size(), stream);
  stream.synchronize();
}

/// Makes the file with all its pages, so that the first copy into it does not have to. The error's number.
int SharedMemory::make_part(std::int64_t bytes, FileHandle& file, Offer& offer) {
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
int SharedMemory::map_part(const Offer& offer, void*& memory) {
  if (offer.file < 0) return 0;  // nothing, or that rank says why
  std::array<char, 64> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/fd/{}", offer.process, offer.file);
  const FileHandle file(::open(path.data(), O_RDWR | O_CLOEXEC));
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

void SharedMemory::share(std::int64_t bytes) {
  FileHandle file;
  Offer mine;
  int error = make_part(bytes, file, mine);
  gather(mine, offers_);
  for (const Offer& offer : offers_) {
    void* memory = nullptr;
    const int failed = map_part(offer, memory);
    if (failed == 0) parts_.emplace_back(static_cast<char*>(memory), Unmap{static_cast<std::size_t>(offer.bytes)});
    if (error == 0) error = failed;
  }
  // All have opened what they need before anyone closes, and all know who failed.
  gather(error, errors_);
  gathered_ = Buffer();
  const auto failed = std::ranges::find_if(errors_, [](int e) { return e != 0; });
  if (failed == errors_.end()) return;
  throw internal_error("comm", "rank {} of group {} cannot share {} bytes of memory with the others of its node: {}{}",
                       failed - errors_.begin(), node_->name(),
                       offers_[static_cast<std::size_t>(failed - errors_.begin())].bytes, std::strerror(*failed),
                       hint_for(*failed));
}

}  // namespace octet

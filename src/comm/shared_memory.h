#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/files.h"
#include "src/comm/communicator.h"
#include "src/device/buffer.h"

namespace octet {

/// Host memory of which every rank of a group has a part that all of them see. The ranks share a machine
/// (Communicator::split_by_node). The memory has no name that a killed job could leave behind, and no file system's
/// limit (/dev/shm) applies. A part lives until the last rank that sees it lets go, so the destructor is no collective
/// and does no harm while an error is on its way. Who writes when is for the ranks to agree on.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Takes what share() needs of memory for its exchange, so that a rank without any can say so before the others wait
  /// for it there. Not collective. Throws where host or device have none. `node` outlives share().
  explicit SharedMemory(Communicator& node);
  /// Collective over `node`, once; this rank's part gets `bytes`, which may be 0. Throws an internal error on every
  /// rank of the group, naming the lowest rank that has no such memory or cannot see another's.
  void share(std::int64_t bytes);

  /// First byte of that rank's part, at the beginning of a page; null where it has none. Zero at first.
  char* part(int rank) const { return parts_.empty() ? nullptr : parts_.at(static_cast<std::size_t>(rank)).get(); }
  /// 0 before there is any.
  std::int64_t bytes(int rank) const { return parts_.empty() ? 0 : offers_.at(static_cast<std::size_t>(rank)).bytes; }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(char* memory) const noexcept;
  };
  /// What a rank tells the others of its part: a file without a name, which they open through /proc.
  struct Offer {
    std::int64_t process = 0;
    std::int64_t file = -1;
    std::int64_t device = 0;  ///< with `inode`: whether what was opened is what was meant
    std::int64_t inode = 0;
    std::int64_t bytes = 0;
  };

  static int make_part(std::int64_t bytes, FileHandle& file, Offer& offer);
  static int map_part(const Offer& offer, void*& memory);
  /// `mine` of every rank of the group, through memory of the stream's device, as every exchange.
  template <typename T>
  void gather(const T& mine, std::vector<T>& of_all);

  Communicator* node_ = nullptr;
  std::vector<Offer> offers_;  ///< of every rank, as the other two
  std::vector<int> errors_;
  std::vector<std::unique_ptr<char, Unmap>> parts_;
  Buffer gathered_;
};

}  // namespace octet

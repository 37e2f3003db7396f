#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/comm/communicator.h"

namespace octet {

/// Host memory of which every rank of a group has a part that all of them see. The ranks share a machine
/// (Communicator::split_by_node). The memory has no name that a killed job could leave behind, and no file system's
/// limit (/dev/shm) applies. A part lives until the last rank that sees it lets go, so the destructor is no collective
/// and does no harm while an error is on its way. Who writes when is for the ranks to agree on.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Collective over `node`; this rank's part has `bytes`, which may be 0. Throws an internal error on every rank of
  /// the group, naming the lowest rank that has no such memory or cannot see another's.
  SharedMemory(Communicator& node, std::int64_t bytes);

  /// First byte of that rank's part, at the beginning of a page; null where it has none. Zero at first.
  char* part(int rank) const { return parts_.empty() ? nullptr : parts_.at(static_cast<std::size_t>(rank)).get(); }
  /// 0 before there is any.
  std::int64_t bytes(int rank) const { return parts_.empty() ? 0 : bytes_.at(static_cast<std::size_t>(rank)); }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(char* memory) const noexcept;
  };

  std::vector<std::unique_ptr<char, Unmap>> parts_;
  std::vector<std::int64_t> bytes_;
};

}  // namespace octet

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

/// Where device memory and pinned memory are: in a range of addresses of their own, so that it is quick to tell what an
/// address is of. No address is used twice before the end of the range is reached, and behind each allocation lie
/// pages that belong to nobody: an access beyond an allocation, or to one that was freed, meets nothing.
namespace octet::emulated {

/// Addresses that cost memory only where they are touched. Ends the program where there are none.
void reserve_addresses(void* at, std::size_t bytes);

class Places {
 public:
  static constexpr std::uintptr_t begin = 0x1000'0000'0000, bytes = std::uintptr_t{1} << 40, page = 4096;
  static Places& get();

  /// `bytes` at the beginning of a page; null where there is no room. Not written yet.
  void* take(std::size_t bytes);
  /// What stands there stays readable for a while, for a host that reads too late.
  void give_back(void* p);

  static bool holds(std::uintptr_t at) { return at - begin < bytes; }
  /// Whether all of the bytes, of an address that it holds, are of one allocation.
  static bool are_taken(std::uintptr_t at, std::size_t size) {
    const std::uintptr_t place = at - begin, within = place % page;
    return within + size <= page ? within + size <= taken_of_page()[place / page] : are_taken_of_pages(place, size);
  }
  /// Where an address is, for messages: of, behind or before which allocation.
  std::string where(std::uintptr_t at, std::size_t size);

 private:
  struct Allocation {
    std::size_t bytes;
    bool freed;
  };

  Places();
  static bool are_taken_of_pages(std::uintptr_t place, std::size_t size);
  /// How many bytes at the beginning of each page are of an allocation.
  static std::uint16_t* taken_of_page() { return reinterpret_cast<std::uint16_t*>(0x3000'0000'0000); }
  void mark(std::uintptr_t at, std::size_t bytes, bool taken);
  std::uintptr_t room_for(std::size_t all);

  std::mutex mutex_;
  std::map<std::uintptr_t, Allocation> all_;
  std::uintptr_t next_ = begin;
  std::map<std::uint64_t, std::uintptr_t> kept_;  ///< freed but not yet emptied, by their age
  std::uint64_t frees_ = 0;
  std::size_t kept_bytes_ = 0;
};

}  // namespace octet::emulated

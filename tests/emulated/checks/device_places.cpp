#include "tests/emulated/checks/device_places.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/emulated/checks/shadow.h"
#include "tests/emulated/checks/watched.h"

namespace octet::emulated {
namespace {

constexpr std::size_t most_kept = std::size_t{64} << 20;  // bytes that are freed and stay readable

std::size_t pages_of(std::size_t bytes) {
  return std::max<std::size_t>((bytes + Places::page - 1) / Places::page, 1) * Places::page;
}

}  // namespace

void reserve_addresses(void* at, std::size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != at) {
    std::fprintf(stderr, "emulated device: no %zu GiB of addresses at %p\n", bytes >> 30, at);
    std::abort();
  }
  madvise(at, bytes, MADV_NOHUGEPAGE);
}

Places& Places::get() {
  static auto* all = new Places;
  return *all;
}

Places::Places() {
  reserve_addresses(reinterpret_cast<void*>(begin), bytes);
  reserve_addresses(taken_of_page(), bytes / page * sizeof(std::uint16_t));
  if (accesses_are_checked) reserve_addresses(Shadow::of_device(begin), bytes / Shadow::word * sizeof(Shadow));
}

bool Places::are_taken_of_pages(std::uintptr_t place, std::size_t size) {
  while (size > 0) {
    const std::uintptr_t within = place % page, here = std::min<std::uintptr_t>(size, page - within);
    if (within + here > taken_of_page()[place / page]) return false;
    place += here;
    size -= here;
  }
  return true;
}

void Places::mark(std::uintptr_t at, std::size_t size, bool taken) {
  std::uint16_t* of_page = taken_of_page() + (at - begin) / page;
  for (std::size_t done = 0; done < size; done += page)
    *of_page++ = taken ? static_cast<std::uint16_t>(std::min<std::size_t>(size - done, page)) : 0;
}

/// Behind what was taken last, or from the beginning again, between what is there.
std::uintptr_t Places::room_for(std::size_t all) {
  for (int around = 0; around < 2;) {
    if (next_ + all > begin + bytes) {
      next_ = begin;
      ++around;
      std::erase_if(all_, [](const auto& a) { return a.second.freed; });
      kept_.clear();
      kept_bytes_ = 0;
      continue;
    }
    auto after = all_.lower_bound(next_);
    if (after != all_.begin()) {
      const auto before = std::prev(after);
      const std::uintptr_t end = before->first + pages_of(before->second.bytes) + page;
      if (end > next_) {
        next_ = end;
        continue;
      }
    }
    if (after == all_.end() || after->first >= next_ + all) return next_;
    next_ = after->first + pages_of(after->second.bytes) + page;
  }
  return 0;
}

void* Places::take(std::size_t size) {
  const std::scoped_lock lock(mutex_);
  const std::size_t pages = pages_of(size), all = pages + (pages / page / 8 + 1) * page;
  const std::uintptr_t at = room_for(all);
  if (at == 0) return nullptr;
  next_ = at + all;
  all_[at] = {size, false};
  mark(at, size, true);
  return reinterpret_cast<void*>(at);
}

void Places::give_back(void* p) {
  const std::scoped_lock lock(mutex_);
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  Allocation& allocation = all_.at(at);
  allocation.freed = true;
  mark(at, allocation.bytes, false);
  kept_[frees_++] = at;
  for (kept_bytes_ += pages_of(allocation.bytes); kept_bytes_ > most_kept; kept_.erase(kept_.begin())) {
    const std::uintptr_t oldest = kept_.begin()->second;
    const std::size_t pages = pages_of(all_.at(oldest).bytes);
    madvise(reinterpret_cast<void*>(oldest), pages, MADV_DONTNEED);
    if (accesses_are_checked) madvise(Shadow::of_device(oldest), pages / Shadow::word * sizeof(Shadow), MADV_DONTNEED);
    kept_bytes_ -= pages;
  }
}

std::string Places::where(std::uintptr_t at, std::size_t size) {
  const std::scoped_lock lock(mutex_);
  const auto after = all_.upper_bound(at);
  std::string text = "where no memory was ever allocated";
  std::uintptr_t nearest = ~std::uintptr_t{0};
  if (after != all_.begin()) {
    const auto [first, allocation] = *std::prev(after);
    const std::uintptr_t offset = at - first;
    const char* freed = allocation.freed ? " that has been freed" : "";
    if (offset < allocation.bytes) {
      const char* across = offset + size > allocation.bytes ? " and beyond it" : "";
      return fmt::format("{} into an allocation of {} bytes{}{}", offset, allocation.bytes, freed, across);
    }
    nearest = offset - allocation.bytes;
    text = fmt::format("{} behind an allocation of {} bytes{}", nearest, allocation.bytes, freed);
  }
  if (after != all_.end() && after->first - at < nearest)
    text = fmt::format("{} before an allocation of {} bytes", after->first - at, after->second.bytes);
  return text;
}

}  // namespace octet::emulated

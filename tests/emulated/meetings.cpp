#include "tests/emulated/meetings.h"

#include <fmt/format.h>

#include <cstring>

namespace octet::emulated {

Meeting& Meetings::of(const char* what, unsigned mask, unsigned lane,
                      const std::function<const char*(unsigned)>& why_not) {
  if ((mask >> lane & 1u) == 0) throw Fault(fmt::format("{}: lane {} is not of its mask {:#x}", what, lane, mask));
  Meeting* free = nullptr;
  for (Meeting& m : all_) {
    if (m.mask == mask && (m.there >> lane & 1u) == 0 && std::strcmp(m.what, what) == 0) return m;
    if (m.mask == 0) free = &m;
  }
  for (unsigned other = 0; other < 32; ++other) {
    if ((mask >> other & 1u) == 0) continue;
    if (const char* why = why_not(other))
      throw Fault(fmt::format("{}: lane {} of the mask {:#x} {}", what, other, mask, why));
  }
  if (free == nullptr) free = &all_.emplace_back();
  *free = {};
  free->what = what;
  free->mask = mask;
  return *free;
}

}  // namespace octet::emulated

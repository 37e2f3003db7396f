#include "tests/emulated/async_copies.h"

#include <cstring>

#include "tests/emulated/checks/accesses.h"
#include "tests/emulated/thread_block.h"

namespace octet::emulated {
namespace {

void finish(const std::vector<Copy>& copies, Watched* me) {
  for (const Copy& c : copies) {
    if (!c.done) std::memcpy(c.to, c.from, c.bytes);
    if (me != nullptr) settle_copy(reinterpret_cast<std::uintptr_t>(c.to), c.bytes, *me);
  }
}

}  // namespace

void begin_copy(void* to, const void* from, std::size_t bytes) {
  const void* const line = __builtin_return_address(0);
  const auto source = reinterpret_cast<std::uintptr_t>(from), target = reinterpret_cast<std::uintptr_t>(to);
  if ((bytes != 4 && bytes != 8 && bytes != 16) || target % bytes != 0 || source % bytes != 0)
    fault("a copy into shared memory of a size, or at an address, that it does not take");
  if (Watched* const me = watched) {
    check_access(source, bytes, Access::read, *me, line);
    check_access(target, bytes, Access::copy, *me, line);
  }
  const Outside outside;
  Thread& thread = *has_turn;
  thread.copies.push_back({to, from, bytes, thread.copies_at_once});
  if (thread.copies_at_once) std::memcpy(to, from, bytes);
}

void commit_copies() {
  const Outside outside;
  Thread& thread = *has_turn;
  thread.groups.push_back(std::move(thread.copies));
  thread.copies.clear();
}

void wait_for_copies(std::size_t newest) {
  Watched* const me = watched;
  const Outside outside;
  auto& groups = has_turn->groups;
  while (groups.size() > newest) {
    finish(groups.front(), me);
    groups.erase(groups.begin());
  }
}

void end_copies() {
  if (has_turn->copies.empty() && has_turn->groups.empty()) return;
  commit_copies();
  wait_for_copies(0);
}

}  // namespace octet::emulated

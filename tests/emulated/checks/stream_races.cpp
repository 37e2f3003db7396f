#include "tests/emulated/checks/stream_races.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

#include "tests/emulated/checks/device_places.h"
#include "tests/emulated/checks/touched_bytes.h"
#include "tests/emulated/checks/watched.h"
#include "tests/emulated/thread_block.h"

namespace octet::emulated {
namespace {

thread_local SharedMoment doing;

/// Who reached bytes that lie together: who wrote them last, and who has read them since.
struct Reached {
  std::uintptr_t end = 0;
  SharedMoment wrote;
  std::vector<SharedMoment> read;
};

/// All bytes that anybody has reached, in pieces that do not overlap, by their first address.
struct History {
  std::mutex mutex;
  std::map<std::uintptr_t, Reached> all;
  bool looks = true;

  static History& get() {
    static auto* history = new History;
    return *history;
  }
  /// No piece lies across this address.
  void cut(std::uintptr_t at) {
    const auto after = all.upper_bound(at);
    if (after == all.begin()) return;
    const auto around = std::prev(after);
    if (around->first == at || around->second.end <= at) return;
    all.emplace_hint(after, at, around->second);
    around->second.end = at;
  }
};

[[noreturn]] void race(const char* does, const Moment& me, const Moment& other, const char* did, std::uintptr_t begin,
                       std::uintptr_t end) {
  throw Fault(fmt::format(
      "a race of streams: {} (stream {}) {} {} bytes, {}, which {} (stream {}) {}, with no order between them", me.what,
      me.lane, does, end - begin, Places::get().where(begin, end - begin), other.what, other.lane, did));
}

void check_order(bool writes, const Reached& with, const Moment& me, std::uintptr_t begin) {
  const char* does = writes ? "writes" : "reads";
  if (with.wrote != nullptr && !with.wrote->is_before(me)) race(does, me, *with.wrote, "writes", begin, with.end);
  if (!writes) return;
  for (const SharedMoment& read : with.read) {
    if (!read->is_before(me)) race(does, me, *read, "reads", begin, with.end);
  }
}

void add_reading(Reached& to, const SharedMoment& me) {
  std::erase_if(to.read, [&](const SharedMoment& read) { return read->is_before(*me); });
  to.read.push_back(me);
}

void reach(History& history, const SharedMoment& me, std::uintptr_t begin, std::uintptr_t end, bool writes) {
  if (!history.looks) return;
  history.cut(begin);
  history.cut(end);
  auto next = history.all.lower_bound(begin);
  if (writes) {
    const auto first = next;
    for (; next != history.all.end() && next->first < end; ++next) check_order(true, next->second, *me, next->first);
    history.all.erase(first, next);
    history.all.emplace_hint(next, begin, Reached{end, me, {}});
    return;
  }
  for (std::uintptr_t at = begin; at < end;) {
    if (next == history.all.end() || next->first > at) {  // nobody has been there
      const std::uintptr_t until = next == history.all.end() ? end : std::min(end, next->first);
      history.all.emplace_hint(next, at, Reached{until, nullptr, {me}});
      at = until;
      continue;
    }
    check_order(false, next->second, *me, at);
    add_reading(next->second, me);
    at = next->second.end;
    ++next;
  }
}

void reach(const void* p, std::size_t bytes, bool writes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  if (!accesses_are_checked || doing == nullptr || bytes == 0 || !Places::holds(begin)) return;
  if (!Places::are_taken(begin, bytes)) {
    throw Fault(fmt::format("{} {} {} bytes, {}", doing->what, writes ? "writes" : "reads", bytes,
                            Places::get().where(begin, bytes)));
  }
  History& history = History::get();
  const std::scoped_lock lock(history.mutex);
  reach(history, doing, begin, begin + bytes, writes);
}

}  // namespace

Doing::Doing(Moment piece) : before_(std::exchange(doing, std::make_shared<Moment>(std::move(piece)))) {}
Doing::~Doing() {
  doing = std::move(before_);
}
Moment& Doing::now() {
  return *doing;
}

void piece_reads(const void* p, std::size_t bytes) {
  reach(p, bytes, false);
}
void piece_writes(const void* p, std::size_t bytes) {
  reach(p, bytes, true);
}

void launch_ends() {
  if (!accesses_are_checked || doing == nullptr) return;
  const TouchedBytes::Ranges touched = TouchedBytes::get().take();
  History& history = History::get();
  const std::scoped_lock lock(history.mutex);
  for (const auto& [begin, end] : touched.read) reach(history, doing, begin, end, false);
  for (const auto& [begin, end] : touched.written) reach(history, doing, begin, end, true);
}

void forget_bytes(const void* p, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  History& history = History::get();
  const std::scoped_lock lock(history.mutex);
  history.cut(begin);
  history.cut(begin + bytes);
  history.all.erase(history.all.lower_bound(begin), history.all.lower_bound(begin + bytes));
}

void look_for_stream_races(bool look) {
  History& history = History::get();
  const std::scoped_lock lock(history.mutex);
  history.looks = look;
  if (!look) history.all.clear();
}

}  // namespace octet::emulated

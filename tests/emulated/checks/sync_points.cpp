// Blocks of a launch that count themselves at an address of device memory: who counts later knows what was done before,
// if fences are there.
#include <algorithm>
#include <map>
#include <mutex>

#include "tests/emulated/checks/accesses.h"
#include "tests/emulated/checks/device_places.h"

namespace octet::emulated {

/// Until which stamp what the counting thread did was before it counted, and up to which barrier what its block did.
struct Release {
  std::uint32_t run;
  unsigned thread, stamp, epoch;
};
struct SyncPoint {
  std::vector<Release> releases;
};

namespace {

std::mutex of_points;
std::map<std::uintptr_t, SyncPoint> points;

/// Whether `me` is behind who read the count.
bool is_known(const Acquired& a, const Watched& me) {
  return a.thread == me.number || a.stamp < me.block->epoch ||
         (a.thread / 32 == me.number / 32 && a.stamp <= me.seen(a.thread % 32));
}

}  // namespace

void forget_sync_points() {
  const std::scoped_lock lock(of_points);
  points.clear();
}

void fence(Watched& me) {
  me.fence = me.stamp;
  me.fence_epoch = me.block->epoch;
  me.be_at(me.block->next_stamp());
  for (Acquired a : me.unfenced) me.block->acquired.push_back({a.point, a.releases, me.number, me.stamp});
  me.unfenced.clear();
}

void synchronize(std::uintptr_t at, bool releases, bool acquires, Watched& me, const std::function<bool()>& exchange) {
  if (!Places::holds(at)) {
    exchange();
    return;
  }
  const Outside outside;
  const std::scoped_lock lock(of_points);
  SyncPoint& point = points[at];
  WatchedBlock& block = *me.block;
  const Acquired acquired{&point, point.releases.size(), me.number, me.stamp};
  const bool wrote = exchange();
  if (acquired.releases > 0) (acquires ? block.acquired : me.unfenced).push_back(acquired);
  if (!wrote) return;
  if (releases) {
    point.releases.push_back({block.run, me.number, me.stamp, block.epoch});
    me.be_at(block.next_stamp());
  } else if (me.fence != 0) {
    point.releases.push_back({block.run, me.number, me.fence, me.fence_epoch});
  }
}

bool has_acquired(const Watched& me) {
  const auto& all = me.block->acquired;
  return std::any_of(all.begin(), all.end(), [&](const Acquired& a) { return is_known(a, me); });
}

bool is_acquired(const Touched& by, const Watched& me) {
  const WatchedBlock& block = *me.block;
  if (block.acquired.empty()) return false;
  const Outside outside;
  const std::scoped_lock lock(of_points);
  return std::any_of(block.acquired.begin(), block.acquired.end(), [&](const Acquired& a) {
    const auto first = a.point->releases.begin();
    return is_known(a, me) &&
           std::any_of(first, first + static_cast<std::ptrdiff_t>(a.releases), [&](const Release& r) {
             return r.run == by.run && (r.thread == by.thread ? by.stamp <= r.stamp : by.stamp < r.epoch);
           });
  });
}

}  // namespace octet::emulated

#include "jobs/commbench/match.h"

#include <algorithm>

#include "src/base/round_up.h"
#include "src/comm/operation.h"

namespace octet::commbench {
namespace {

/// Buffers begin on so many bytes.
constexpr std::int64_t alignment = 256;

}  // namespace

std::int64_t Match::memory(std::int64_t bytes) {
  return 2 * round_up(bytes, alignment);
}

Match::Match(Communicator& world, std::int64_t bytes, const MeasureSettings& settings)
    : world_(world),
      bytes_(bytes),
      rounds_(settings.iterations),
      limit_us_(settings.row_seconds * 1e6),
      buffer_(world.memory(), memory(bytes), Purpose::workspace),
      copier_(world.stream()) {}

char* Match::outbox() const {
  return inbox() + round_up(bytes_, alignment);
}

Meeting Match::play(int peer) {
  Meeting out;
  out.wrong = verify(peer, 0);  // makes the connection too
  out.both_us = timed(peer, [&] { exchange(peer); });
  const bool first = world_.rank() < peer;
  for (const bool mine : {first, !first}) {
    const double us = timed(peer, [&] { mine ? throw_to(peer) : catch_from(peer); });
    if (mine) out.to_us = us;
  }
  out.wrong += verify(peer, 1);
  return out;
}

void Match::exchange(int peer) {
  world_.group_begin();
  world_.send(outbox(), bytes_, DType::u8, peer);
  world_.recv(inbox(), bytes_, DType::u8, peer);
  world_.group_end();
}

void Match::throw_to(int peer) {
  world_.send(outbox(), bytes_, DType::u8, peer);
  world_.recv(inbox(), 1, DType::u8, peer);
}

void Match::catch_from(int peer) {
  world_.recv(inbox(), bytes_, DType::u8, peer);
  world_.send(outbox(), 1, DType::u8, peer);
}

std::int64_t Match::verify(int peer, std::uint64_t pass) {
  std::int64_t wrong = verified(peer, 3 * pass, bytes_, [&] { exchange(peer); });
  const bool first = world_.rank() < peer;
  for (const bool mine : {first, !first}) {
    const std::uint64_t seed = 3 * pass + (mine == first ? 1 : 2);
    wrong += mine ? verified(peer, seed, 1, [&] { throw_to(peer); })
                  : verified(peer, seed, bytes_, [&] { catch_from(peer); });
  }
  return wrong;
}

template <typename Call>
std::int64_t Match::verified(int peer, std::uint64_t seed, std::int64_t arriving, const Call& call) {
  const int me = world_.rank();
  Pattern pattern(world_.size(), seed);
  copier_.write(outbox(), DType::u8, pattern, me, peer * bytes_, bytes_);
  copier_.poison(inbox(), bytes_);
  call();
  const OperationScope operation("comparison of results", world_.name());
  return copier_.count_wrong(inbox(), DType::u8, pattern, peer, me * bytes_, arriving);
}

/// Both sides make the same number of calls: as many as fit the time limit if each takes as long as the first call did
/// on the slower side.
template <typename Call>
double Match::timed(int peer, const Call& call) {
  const auto fitting = static_cast<std::int64_t>(limit_us_ / larger_of_both(peer, timed_once(call)));
  std::vector<double> us;
  for (std::int64_t i = std::clamp<std::int64_t>(fitting, 1, rounds_); i > 0; --i) us.push_back(timed_once(call));
  return timing_of(std::move(us), 0).median();
}

template <typename Call>
double Match::timed_once(const Call& call) {
  Stream& stream = world_.stream();
  const auto begin = device().make_timing_event(), end = device().make_timing_event();
  stream.record(*begin);
  call();
  stream.record(*end);
  const OperationScope operation("wait for the device");
  stream.synchronize();
  return std::max(1e6 * end->seconds_since(*begin), 0.01);
}

double Match::larger_of_both(int peer, double mine) {
  double theirs = 0;
  Stream& stream = world_.stream();
  device().copy_from_host(outbox(), &mine, sizeof mine, stream);
  world_.group_begin();
  world_.send(outbox(), sizeof mine, DType::u8, peer);
  world_.recv(inbox(), sizeof theirs, DType::u8, peer);
  world_.group_end();
  device().copy_to_host(&theirs, inbox(), sizeof theirs, stream);
  const OperationScope operation("wait for the device");
  stream.synchronize();
  return std::max(mine, theirs);
}

}  // namespace octet::commbench

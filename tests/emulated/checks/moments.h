#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulated/thread_block.h"

/// Which pieces of work are before which, by what streams, events and the host's waiting say, whenever they are done.
/// Vector clocks: L. Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System" (1978); F. Mattern,
/// "Virtual Time and Global States of Distributed Systems" (1989).
namespace octet::emulated {

/// How many pieces of each lane are before something. A lane is a stream, or one of a graph's. Of other processes,
/// whose messages tell it, the same.
class Clock {
 public:
  static constexpr std::size_t lanes_of_process = 128;  ///< at the most, where processes tell each other
  using Told = std::vector<std::uint64_t>;              ///< lanes_of_process of each process

  std::uint64_t of(std::size_t lane) const { return lane < pieces_.size() ? pieces_[lane] : 0; }
  void raise(std::size_t lane, std::uint64_t to) { raise(pieces_, lane, to); }
  void lower(std::size_t lane, std::uint64_t to) { pieces_[lane] = to; }
  void join(const Clock& other) {
    join(pieces_, other.pieces_.begin(), other.pieces_.end());
    join(others_, other.others_.begin(), other.others_.end());
  }

  /// As one process of so many tells it, and what it has been told.
  Told told(int process, int processes) const;
  void hear(const Told& told, int process);

 private:
  using Pieces = std::vector<std::uint64_t>;
  static void raise(Pieces& pieces, std::size_t lane, std::uint64_t to) {
    if (lane >= pieces.size()) pieces.resize(lane + 1);
    pieces[lane] = std::max(pieces[lane], to);
  }
  static void join(Pieces& pieces, Pieces::const_iterator from, Pieces::const_iterator end) {
    for (std::size_t lane = 0; from != end; ++lane, ++from) raise(pieces, lane, *from);
  }

  Pieces pieces_, others_;  ///< of this process by lane; of all, as they are told
};

inline Clock::Told Clock::told(int process, int processes) const {
  Told all = others_;
  all.resize(lanes_of_process * static_cast<std::size_t>(processes));
  if (pieces_.size() > lanes_of_process) throw Fault("more streams and graphs than other processes can be told of");
  std::copy(pieces_.begin(), pieces_.end(), all.begin() + static_cast<std::ptrdiff_t>(lanes_of_process) * process);
  return all;
}

inline void Clock::hear(const Told& told, int process) {
  join(others_, told.begin(), told.end());
  const auto mine = told.begin() + static_cast<std::ptrdiff_t>(lanes_of_process) * process;
  join(pieces_, mine, mine + static_cast<std::ptrdiff_t>(lanes_of_process));
}

/// A piece of work.
struct Moment {
  std::string what;  ///< its kernel, or the call that gave it
  std::size_t lane = 0;
  std::uint64_t position = 0;  ///< in its lane, from 1 on
  /// What is before it, and itself. Its stream's next piece begins with this, and what messages have told.
  Clock clock;

  bool is_before(const Moment& other) const { return other.clock.of(lane) >= position; }
  /// Without itself.
  Clock before() const {
    Clock all = clock;
    all.lower(lane, position - 1);
    return all;
  }
};
using SharedMoment = std::shared_ptr<Moment>;

/// Numbers for lanes. One that has ended is used again, going on behind its last piece, once the host has waited for
/// that.
class Lanes {
 public:
  std::size_t begin(const Clock& host) {
    const auto known = [&](std::size_t lane) { return host.of(lane) >= last_[lane]; };
    const auto found = std::find_if(ended_.begin(), ended_.end(), known);
    if (found == ended_.end()) {
      last_.push_back(0);
      return last_.size() - 1;
    }
    const std::size_t lane = *found;
    ended_.erase(found);
    return lane;
  }
  void end(std::size_t lane) { ended_.push_back(lane); }
  /// The position of its last piece.
  std::uint64_t& last(std::size_t lane) { return last_[lane]; }

 private:
  std::vector<std::uint64_t> last_;
  std::vector<std::size_t> ended_;
};

}  // namespace octet::emulated

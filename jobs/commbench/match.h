#pragma once

#include <cstdint>

#include "jobs/commbench/measure.h"
#include "src/comm/communicator.h"
#include "src/device/buffer.h"

namespace octet::commbench {

/// What one rank measured with one other. Medians, in microseconds, by this rank's clock.
struct Meeting {
  double both_us = 0;      ///< both send at once
  double to_us = 0;        ///< this rank sends all, the other answers with a byte
  std::int64_t wrong = 0;  ///< bytes from the other that are not what it sent
};

/// Sends and receives of one rank with others, one at a time. Both ranks of a pair play at once.
class Match {
 public:
  /// Bytes of memory that it takes on a rank.
  static std::int64_t memory(std::int64_t bytes);

  /// `bytes` are sent at a time. Collective over `world` (its memory may be).
  Match(Communicator& world, std::int64_t bytes, const MeasureSettings& settings);

  /// Every kind of transfer is compared, byte by byte, before and after the timed ones: what is sent depends on the
  /// sender, the receiver and which of these transfers it is.
  Meeting play(int peer);

 private:
  Device& device() const { return world_.stream().device(); }
  char* inbox() const { return buffer_.as<char>(); }
  char* outbox() const;

  void exchange(int peer);
  void throw_to(int peer);
  void catch_from(int peer);

  std::int64_t verify(int peer, std::uint64_t pass);
  template <typename Call>
  std::int64_t verified(int peer, std::uint64_t seed, std::int64_t arriving, const Call& call);

  template <typename Call>
  double timed(int peer, const Call& call);
  template <typename Call>
  double timed_once(const Call& call);
  double larger_of_both(int peer, double mine);

  Communicator& world_;
  std::int64_t bytes_, rounds_;
  double limit_us_;
  Buffer buffer_;  ///< what comes, then what goes
  PatternCopier copier_;
};

}  // namespace octet::commbench

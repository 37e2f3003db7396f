#pragma once

#include <cstddef>

#include "tests/emulated/checks/moments.h"

/// Whether pieces of work of different streams reach the same bytes of the device's memory, or of pinned memory, one of
/// them writing, with nothing that orders them. Nothing depends on when a stream does its work. Where the accesses of
/// kernels are not checked, nothing is looked at.
namespace octet::emulated {

/// While it lives, this thread of the operating system does that piece of work.
class Doing {
 public:
  explicit Doing(Moment piece);
  ~Doing();
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

  /// What this thread does, which messages may put behind more than its stream has.
  static Moment& now();

 private:
  SharedMoment before_;
};

/// What this thread does reads or writes them. Other memory of the host's is passed over. Throws Fault where a piece
/// without an order has reached them too.
void piece_reads(const void* p, std::size_t bytes);
void piece_writes(const void* p, std::size_t bytes);
/// The same of all that the launch which this thread does has touched (touched_bytes.h).
void launch_ends();

/// What was taken or given back has been reached by nobody.
void forget_bytes(const void* p, std::size_t bytes);

/// For tests of what a fault does: nothing is looked at any more, until it is true again.
void look_for_stream_races(bool look);

}  // namespace octet::emulated

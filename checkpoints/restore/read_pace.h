#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace octet::checkpoint {

/// How fast a thread reads what nobody waits for. It reads for a quarter of the time and rests for the others, whatever
/// the storage gives: where that is slow because others use it, the rests are longer too. So the training's own reads
/// and writes get the rest.
class ReadPace {
 public:
  using Seconds = std::chrono::duration<double>;

  /// The rest that belongs to a read of that length. It is a second at most, so that who begins to wait need not wait
  /// for a rest.
  static Seconds rest_after(Seconds read);

  /// The reader's, before it begins.
  void begin() { rested_ = Clock::now(); }
  /// The reader's, after every block.
  void rest();
  /// Somebody waits for the reader, who does not rest then. Any thread.
  void hurry(bool on) { hurries_ = on; }

  /// How often it rested. Any thread.
  std::int64_t rests() const { return rests_; }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point rested_ = Clock::now();  ///< until then
  std::atomic<bool> hurries_ = false;
  std::atomic<std::int64_t> rests_ = 0;
};

}  // namespace octet::checkpoint

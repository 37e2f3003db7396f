#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "src/device/device.h"

namespace octet {

/// What the model's stream spends its time on. `step` is training; the others are the pauses.
enum class Activity : std::uint8_t {
  step,        ///< a step's own work, from its first to its last
  data,        ///< within a step, the stream has nothing to do because the host still reads a batch
  validation,  ///< a validation pass, its batches included
  checkpoint,  ///< the snapshot for a checkpoint, and what else saving one holds up
  wait,        ///< all else between two steps: the stream waits for the host to start the next one
  count
};

/// Seconds by activity.
struct Spent {
  std::array<double, static_cast<std::size_t>(Activity::count)> seconds{};

  double& operator[](Activity a) { return seconds[static_cast<std::size_t>(a)]; }
  double operator[](Activity a) const { return seconds[static_cast<std::size_t>(a)]; }
  Spent& operator+=(const Spent& other);
  /// The sum of all activities, which is wall time.
  double total() const;
};

/// Divides the time of the model's stream among activities, without overlap or hole: a mark in the stream's work says
/// what the time goes to from there to the next mark. Marks are timing events, so on a device whose work goes on beside
/// the host the times are the device's own: the host's work costs only as long as the stream has nothing else to do,
/// and a step takes as long when its results are read late as when they are read at once. On the CPU, whose work is
/// done when the call returns, they are the host's. Main thread; nothing collective; times are of this rank.
///
/// A step's marks, by Trainer: `data` before and `step` after the reading of each batch, so that a step begins when its
/// first batch is there, and `wait` after its last work. Validations and checkpoints lie between two steps.
class StepClock {
 public:
  explicit StepClock(Stream& stream) : stream_(stream) {}

  /// Gives the stream's time from here on to `activity`. It waits for nothing, and returns the mark's number.
  std::int64_t mark(Activity activity);
  /// Marks `work` as `activity`, and what comes after it as waiting.
  template <typename Work>
  void during(Activity activity, Work&& work) {
    mark(activity);
    work();
    mark(Activity::wait);
  }

  /// The time up to that mark, from the one up to which it was taken before, or the first. Waits for the stream to get
  /// there. Each mark once, in order.
  Spent take(std::int64_t mark);
  /// Takes what was spent up to the newest mark.
  Spent take();

 private:
  struct Mark {
    std::unique_ptr<Event> at;
    Activity activity;
  };

  Stream& stream_;
  std::deque<Mark> marks_;  ///< the first is the one up to which time was taken
  std::int64_t first_ = 0;  ///< its number
  std::vector<std::unique_ptr<Event>> idle_;
};

}  // namespace octet

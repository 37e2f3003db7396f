#pragma once

#include <cstdint>

namespace octet::checkpoint {

/// GPU-hours between two unexpected stops when nothing better is known: Llama 3's 16,384 H100 had one in 50,700.
inline constexpr double default_failure_gpu_hours = 50'000;

/// Bounds of an automatic interval. Above an hour software and preemption, which no hardware rate knows, would cost
/// more than the checkpoints; below a minute a wrong measurement would be all that a run does.
inline constexpr double shortest_automatic_seconds = 60;
inline constexpr double longest_automatic_seconds = 3600;

/// How often a run saves (checkpoint.interval).
struct Interval {
  enum class Kind : std::uint8_t { off, steps, seconds, automatic };
  Kind kind = Kind::off;
  std::int64_t steps = 0;  ///< kind steps: at every multiple, so that a resumed run saves where it would have
  double seconds = 0;      ///< kind seconds: since the last save began
  double failure_gpu_hours = default_failure_gpu_hours;  ///< kind automatic: mean GPU-hours between stops
  int devices = 1;                                       ///< kind automatic: of the whole run
};

/// What a checkpoint of this run costs, measured at the last one; zeros before the first.
struct MeasuredCost {
  double stall_seconds = 0;  ///< training stands still: for the snapshot, and for the commit
  double write_seconds = 0;  ///< in the background
};

/// The run's position at a step boundary.
struct Position {
  std::int64_t step = 0;          ///< finished steps
  std::int64_t last_saved = -1;   ///< step of the last save, also the one that was resumed from; -1: none
  double seconds_since_save = 0;  ///< since it began, or since the run began
};

/// Seconds between checkpoints that lose the least to stalls and repeated work together: Daly's higher-order estimate
/// (J. T. Daly, 2006), which starts from Young's sqrt(2 · stall · mean time between stops). At least the time of the
/// background write, and within the bounds above. Without a measurement the shortest, so that one comes soon.
double automatic_seconds(const Interval& interval, const MeasuredCost& cost);

/// How old the last committed checkpoint is: when the state was taken that it has, or, before the first, since the run
/// began here.
struct Age {
  std::int64_t steps = 0;
  double seconds = 0;
};

/// checkpoint.max_age of a run with that interval, as one of kind steps, seconds or off: automatic is twice the
/// interval.
Interval oldest_allowed(const Interval& max_age, const Interval& interval, const MeasuredCost& cost);

/// Says whether the checkpoint has reached the age that oldest_allowed gives. With off it never has.
bool is_too_old(const Age& age, const Interval& oldest);

/// Is a checkpoint due? Clocks differ between ranks: with seconds or automatic one rank decides and tells the others.
bool is_due(const Interval& interval, const MeasuredCost& cost, const Position& position);

}  // namespace octet::checkpoint

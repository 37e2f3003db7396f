#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/error.h"
#include "src/base/named_enum.h"
#include "src/train/run/wall_clock.h"

namespace octet {

/// SIGINT, SIGTERM and SIGUSR1 (which Slurm's --signal sends before a time limit) ask for an end at the next step
/// boundary, the first two also before the first step, instead of killing the process. A SIGINT or SIGTERM more than a
/// second after the first of them ends it at once: launchers may deliver one request twice. SIGUSR1 never does. Made
/// once in the life of a run, before anything that takes long; the end of its life puts back what was there before.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// To be called when MPI has come up, which puts a handler of its own for SIGUSR1.
  void install_again() const;
  /// Number of the first signal that arrived at this process, 0 for none.
  int received() const;
  /// Whether SIGINT or SIGTERM has come, first or later.
  bool told_to_end() const;

 private:
  struct sigaction before_[3];
};

/// Why a run is asked to end before its last step. Where ranks have different reasons, the largest counts.
enum class StopReason : std::int32_t { none, wall_time, stop_file, user_signal, terminate, interrupt };

/// The reasons' names for status.json and the log: "train.max_wall_time", "stop file", "SIGUSR1", "SIGTERM", "SIGINT".
constexpr auto names_of(StopReason) {
  return std::to_array<std::string_view>({"", "train.max_wall_time", "stop file", "SIGUSR1", "SIGTERM", "SIGINT"});
}

/// The exit code of a run that was stopped with nothing saved: interrupted for SIGINT, else terminated.
ExitCode exit_code_unsaved(StopReason reason);

/// What may ask this rank for an end: signals, the time limit, and on rank 0 a file `stop` in the run directory. Looked
/// at when a step has ended, and before the first; it does not stop anything itself. Main thread.
class StopRequest {
 public:
  /// `stop_file` is empty on the ranks that do not look for one.
  StopRequest(const StopSignal& signal, WallClock clock, std::string stop_file);

  /// `seconds`: how long another step and the checkpoint after it may take, for the time limit.
  StopReason reason(double seconds) const;
  /// The reason where that cannot wait for a step: SIGINT or SIGTERM has come, if behind a SIGUSR1.
  StopReason urgent_reason() const;
  /// The run has stopped: removes the stop file, which would stop the next start as well.
  void honoured() const noexcept;

 private:
  const StopSignal& signal_;
  WallClock clock_;
  std::string stop_file_;
};

}  // namespace octet

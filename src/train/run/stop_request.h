#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/error.h"
#include "src/train/options/wall_clock.h"
#include "src/train/run/stop_signal.h"

namespace octet {

/// Why a run is asked to end before its last step. Where ranks have different reasons, the largest counts.
enum class StopReason : std::int32_t { none, wall_time, stop_file, user_signal, terminate, interrupt };

/// For status.json and the log: "train.max_wall_time", "stop file", "SIGUSR1", "SIGTERM", "SIGINT".
std::string_view name_of(StopReason reason);

/// The exit code of a run that was stopped with nothing saved: interrupted for SIGINT, else terminated.
ExitCode exit_code_unsaved(StopReason reason);

/// What may ask this rank for an end: signals, the time limit, and on rank 0 a file `stop` in the run directory. Looked
/// at when a step has ended; it does not stop anything itself. Main thread.
class StopRequest {
 public:
  /// `stop_file` is empty on the ranks that do not look for one.
  StopRequest(const StopSignal& signal, WallClock clock, std::string stop_file);

  /// `seconds`: how long another step and the checkpoint after it may take, for the time limit.
  StopReason reason(double seconds) const;
  /// The run has stopped: removes the stop file, which would stop the next start as well.
  void honoured() const noexcept;

 private:
  const StopSignal& signal_;
  WallClock clock_;
  std::string stop_file_;
};

}  // namespace octet

#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "src/train/run/stop_request.h"
#include "src/train/step/trainer.h"

namespace octet {

/// What is known of a step.
struct Outcome {
  const StepResult& result;
  std::optional<std::string> replica_difference = std::nullopt;
  std::optional<double> validation_loss = std::nullopt;

  bool bad() const { return result.skipped || !std::isfinite(result.loss) || replica_difference; }
};

/// How a run ends.
struct Ending {
  const char* state;
  std::string reason;
  ExitCode exit_code;
  StopReason stop = StopReason::none;  ///< asked for, where that is why
};

/// The end of a run that was asked for one. The exit code is that of a run with nothing saved.
Ending stopped_by(StopReason stop);

/// Why the run ends here, if it does; the same on every rank.
std::optional<Ending> ending_of(const RunConfig& config, const Outcome& outcome, StopReason stop);

}  // namespace octet

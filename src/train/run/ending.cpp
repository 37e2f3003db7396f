#include "src/train/run/ending.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/named_enum.h"

namespace octet {
namespace {

Ending failed(ExitCode code, std::string reason) {
  return {.state = "failed", .reason = std::move(reason), .exit_code = code};
}

/// ": gradient of layers.0.attention.wq.weight in block.0, ... and 40 more".
std::string first_of(const std::vector<TensorChecks::Finding>& findings) {
  constexpr std::size_t shown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(findings.size(), shown); ++i) {
    text += fmt::format("{}{} in {}", i == 0 ? ": " : ", ", findings[i].tensor, findings[i].unit);
  }
  return findings.size() > shown ? fmt::format("{} and {} more", text, findings.size() - shown) : text;
}

}  // namespace

Ending stopped_by(StopReason stop) {
  return {.state = "stopped", .reason = std::string(name_of(stop)), .exit_code = exit_code_unsaved(stop), .stop = stop};
}

std::optional<Ending> ending_of(const RunConfig& config, const Outcome& outcome, StopReason stop) {
  const std::int64_t step = outcome.result.step;
  if (outcome.result.skipped) {
    return failed(ExitCode::non_finite, fmt::format("the gradient norm of step {} is not finite; no weight was changed "
                                                    "(docs/problems.md, \"The loss is not finite\"){}",
                                                    step, first_of(outcome.result.non_finite)));
  }
  if (!std::isfinite(outcome.result.loss)) {
    return failed(ExitCode::non_finite,
                  fmt::format("the loss of step {} is not finite (docs/problems.md, \"The loss is not finite\"){}",
                              step, first_of(outcome.result.non_finite)));
  }
  if (outcome.replica_difference) {
    return failed(ExitCode::unhealthy, fmt::format("fp32 master weights that ranks have in common differ after step {} "
                                                   "(docs/problems.md, \"Ranks differ\"): {}",
                                                   step, *outcome.replica_difference));
  }
  if (outcome.validation_loss && !std::isfinite(*outcome.validation_loss)) {
    return failed(
        ExitCode::non_finite,
        fmt::format("the validation loss after step {} is not finite (docs/problems.md, \"The loss is not finite\")",
                    step));
  }
  if (step == config.train.steps) {
    if (!outcome.result.is_finite()) {
      return failed(ExitCode::non_finite,
                    fmt::format("something in step {}, the last, was not finite, so that its state is not saved "
                                "(docs/problems.md, \"The loss is not finite\"){}",
                                step, first_of(outcome.result.non_finite)));
    }
    return Ending{.state = "finished", .reason = "all steps done", .exit_code = ExitCode::finished};
  }
  if (stop == StopReason::none) return std::nullopt;
  return stopped_by(stop);
}

}  // namespace octet

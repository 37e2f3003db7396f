#pragma once

#include <cstdint>
#include <optional>

#include "src/metrics/step_metrics.h"

namespace octet {

/// What the page shows of a line of metrics.jsonl, of which a long run has a million.
struct LoggedStep {
  std::int64_t step = 0;
  double loss = 0;  ///< nats a token; NaN where it was not finite, as in the other numbers
  std::optional<double> validation_loss{};
  std::optional<double> validation_bits_per_byte{};
  double grad_norm = 0;
  double lr = 0;
  double tokens_per_second = 0;
  double tflops = 0;                         ///< of one rank
  std::optional<double> mfu{}, mfu_mixed{};  ///< percent
  std::int64_t memory_bytes = 0;             ///< of rank 0
  std::int64_t interval_steps = 1;           ///< that the times cover
  double step_seconds = 0;                   ///< of one of them
  double data_seconds = 0;                   ///< in all of them
  std::optional<double> wall_seconds{};      ///< of all of them, with the pauses; none of older versions
  std::int64_t non_finite = 0;
  std::optional<std::int64_t> restarts{};  ///< none of older versions
};

LoggedStep logged_step(const StepMetrics& metrics);

}  // namespace octet

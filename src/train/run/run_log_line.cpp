// What a line of metrics.jsonl, and of the console, says of a step.
#include <numbers>
#include <numeric>

#include "src/base/utc_now.h"
#include "src/data/passes.h"
#include "src/metrics/peak.h"
#include "src/metrics/step_metrics.h"
#include "src/train/run/run_log.h"

namespace octet {

double RunLog::tokens_of(std::int64_t steps) const {
  return static_cast<double>(steps * config_.train.global_batch * config_.train.seq_len);
}

std::vector<double> RunLog::passes_done(std::int64_t step) const {
  std::vector<double> made;
  if (sampler_ == nullptr) return made;
  for (const SourcePasses& source : passes_after(*sampler_, step)) made.push_back(source.passes());
  return made;
}

StepMetrics RunLog::metrics_of(const StepResult& result, std::optional<double> validation_loss) const {
  Device& device = environment_.stream.device();
  const Spent& spent = since_line_.spent;
  const double tokens_per_second = tokens_of(since_line_.steps) / spent[Activity::step];
  const double per_rank = tokens_per_second / environment_.control.size();
  const double all_keys = static_cast<double>(config_.train.seq_len);
  const double keys = static_cast<double>(since_line_.pairs_of_tokens) / tokens_of(since_line_.steps);
  const double flops_per_token = config_.model.flops_per_token(keys), flops = per_rank * flops_per_token;
  const std::int64_t memory = device.ledger().total().peak;
  const auto add = [](std::int64_t n, const TensorChecks::Finding& f) { return n + f.count; };
  return {.step = result.step,
          .loss = result.loss,
          .validation_loss = validation_loss,
          .validation_bits_per_byte =
              validation_loss && validation_bytes_per_token_
                  ? std::optional(*validation_loss / std::numbers::ln2 / *validation_bytes_per_token_)
                  : std::nullopt,
          .grad_norm = result.grad_norm,
          .lr = result.lr,
          .tokens = result.step * config_.train.global_batch * config_.train.seq_len,
          .passes = passes_done(result.step),
          .tokens_per_second = tokens_per_second,
          .tokens_per_second_per_rank = per_rank,
          .tflops = flops / 1e12,
          .tflops_unmasked = config_.data.document_mask
                                 ? std::optional(per_rank * config_.model.flops_per_token(all_keys) / 1e12)
                                 : std::nullopt,
          .mfu = mfu_percent(device.name(), flops),
          .mfu_mixed = config_.precision == Precision::float8
                           ? mixed_peak_percent(device.name(), flops, float8_flops_ / flops_per_token)
                           : std::nullopt,
          .memory_bytes = memory,
          .memory_percent = 100.0 * static_cast<double>(memory) / static_cast<double>(device.memory_bytes()),
          .interval_steps = since_line_.steps,
          .step_seconds = spent[Activity::step] / static_cast<double>(since_line_.steps),
          .data_seconds = spent[Activity::data],
          .validation_seconds = spent[Activity::validation],
          .checkpoint_stall_seconds = spent[Activity::checkpoint],
          .wait_seconds = spent[Activity::wait],
          .non_finite = std::accumulate(result.non_finite.begin(), result.non_finite.end(), std::int64_t{0}, add),
          .restarts = status_.restarts(),
          .time = utc_now()};
}

}  // namespace octet

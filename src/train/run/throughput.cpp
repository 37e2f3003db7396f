#include "src/train/run/throughput.h"

#include <numbers>
#include <numeric>
#include <utility>

#include "src/base/utc_now.h"
#include "src/data/data_identity.h"
#include "src/data/passes.h"
#include "src/metrics/peak.h"
#include "src/model/step_costs.h"
#include "src/train/step/run_settings.h"

namespace octet {

double float8_flops(const RunConfig& config, Stream& stream) {
  if (config.precision != Precision::float8) return 0;
  return step_flops(llama_settings(config, 0), stream).float8;
}

Throughput::Throughput(const RunConfig& config, int ranks, Device& device, double float8_flops_per_token)
    : config_(config), ranks_(ranks), device_(device), float8_flops_(float8_flops_per_token) {}

std::optional<double> Throughput::set_data(const Sampler& sampler, std::span<const double> bytes_per_token) {
  sampler_ = &sampler;
  if (config_.data.validation_fraction == 0) return std::nullopt;
  const std::int64_t batches = config_.train.validation_batches;
  const std::int64_t samples =
      batches == 0 ? sampler.order().validation_samples() : batches * config_.train.global_batch;
  validation_bytes_per_token_ = validation_bytes_per_token(sampler.order(), samples, bytes_per_token);
  return validation_bytes_per_token_;
}

void Throughput::add(const Spent& spent, std::int64_t steps, const StepWork& work) {
  for (Interval* interval : {&since_line_, &all_}) {
    interval->spent += spent;
    interval->steps += steps;
    interval->pairs_of_tokens += work.pairs_of_tokens;
  }
}

double Throughput::tokens_of(std::int64_t steps) const {
  return static_cast<double>(steps * config_.train.global_batch * config_.train.seq_len);
}

std::vector<double> Throughput::passes_done(std::int64_t step) const {
  std::vector<double> made;
  if (sampler_ == nullptr) return made;
  for (const SourcePasses& source : passes_after(*sampler_, step)) made.push_back(source.passes());
  return made;
}

StepMetrics Throughput::take_line(const StepResult& result, std::optional<double> validation_loss,
                                  std::int64_t restarts) {
  const Interval interval = std::exchange(since_line_, {});
  const Spent& spent = interval.spent;
  const double tokens_per_second = tokens_of(interval.steps) / spent[Activity::step];
  const double per_rank = tokens_per_second / ranks_;
  const double all_keys = static_cast<double>(config_.train.seq_len);
  const double keys = static_cast<double>(interval.pairs_of_tokens) / tokens_of(interval.steps);
  const double flops_per_token = config_.model.flops_per_token(keys), flops = per_rank * flops_per_token;
  const std::int64_t memory = device_.ledger().total().peak;
  const auto add_count = [](std::int64_t n, const TensorChecks::Finding& f) { return n + f.count; };
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
          .mfu = mfu_percent(device_.name(), flops),
          .mfu_mixed = config_.precision == Precision::float8
                           ? mixed_peak_percent(device_.name(), flops, float8_flops_ / flops_per_token)
                           : std::nullopt,
          .memory_bytes = memory,
          .memory_percent = 100.0 * static_cast<double>(memory) / static_cast<double>(device_.memory_bytes()),
          .interval_steps = interval.steps,
          .step_seconds = spent[Activity::step] / static_cast<double>(interval.steps),
          .data_seconds = spent[Activity::data],
          .validation_seconds = spent[Activity::validation],
          .checkpoint_stall_seconds = spent[Activity::checkpoint],
          .wait_seconds = spent[Activity::wait],
          .non_finite = std::accumulate(result.non_finite.begin(), result.non_finite.end(), std::int64_t{0}, add_count),
          .restarts = restarts,
          .time = utc_now()};
}

std::string Throughput::summary() const {
  if (all_.steps == 0) return "";
  const Spent& spent = all_.spent;
  const double tokens = tokens_of(all_.steps);
  return fmt::format(
      "; {} step(s) in {:.2f} s: {} tokens/s with pauses, {} training alone (pauses: data {:.2f} s, validation {:.2f} "
      "s, checkpoints {:.2f} s, waiting to start {:.2f} s)",
      all_.steps, spent.total(), grouped(tokens / spent.total()), grouped(tokens / spent[Activity::step]),
      spent[Activity::data], spent[Activity::validation], spent[Activity::checkpoint], spent[Activity::wait]);
}

}  // namespace octet

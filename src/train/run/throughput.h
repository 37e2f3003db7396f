#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/data/sampler.h"
#include "src/device/device.h"
#include "src/metrics/step_metrics.h"
#include "src/run_config/run_config.h"
#include "src/train/step/trainer.h"

namespace octet {

/// FLOPs of a token in fp8 GEMMs, over all tensor-parallel ranks, by a dry pass; 0 where the precision is another.
double float8_flops(const RunConfig& config, Stream& stream);

/// What a run gets done in its time. Adds up the steps and pauses of this start, and makes of them the numbers of a
/// line of the metrics and of the run's last words. It touches no file and asks no other rank: times are this rank's,
/// work is that of all.
class Throughput {
 public:
  /// `ranks`: of the run. `device`: this rank's, whose name says what peak it has. `float8_flops_per_token`:
  /// float8_flops. The configuration and the device outlive it.
  Throughput(const RunConfig& config, int ranks, Device& device, double float8_flops_per_token);

  /// The data of the steps, for passes over them (epochs), and the bytes of text that a token of each source stands
  /// for, 0 where it is not known. Returns those of a token of what is validated on, where all of that is known: from
  /// here on validation losses have bits per byte beside them. `sampler` outlives it.
  std::optional<double> set_data(const Sampler& sampler, std::span<const double> bytes_per_token);
  /// Adds time of the run, and how many steps with what work ended in it: every step's and every pause's, logged or
  /// not.
  void add(const Spent& spent, std::int64_t steps, const StepWork& work = {});
  /// The line of a step whose time has been added. What was added since the line before makes up its times.
  /// `restarts`: how often the run had been resumed.
  StepMetrics take_line(const StepResult& result, std::optional<double> validation_loss, std::int64_t restarts);
  /// Of all that was added: tokens a second by wall time and by that of steps, with the pauses. Begins with "; " and is
  /// empty where there was no step.
  std::string summary() const;

 private:
  /// Sums over some steps of the run, and over what lay between them.
  struct Interval {
    Spent spent;
    std::int64_t steps = 0;
    std::int64_t pairs_of_tokens = 0;  ///< of those steps
  };

  /// Passes over each source; empty where the steps are of no sampler.
  std::vector<double> passes_done(std::int64_t step) const;
  double tokens_of(std::int64_t steps) const;

  const RunConfig& config_;
  int ranks_;
  Device& device_;
  double float8_flops_;  ///< a token
  Interval since_line_, all_;
  std::optional<double> validation_bytes_per_token_{};
  const Sampler* sampler_ = nullptr;  ///< since set_data()
};

}  // namespace octet

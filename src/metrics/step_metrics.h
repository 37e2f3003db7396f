#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/metrics/appended_file.h"

namespace octet {

/// One logged step; the fields of a line of metrics.jsonl. Its times are those of the steps since the line before,
/// `interval_steps`, in which interval_steps * step_seconds and the pauses add up to wall time.
struct StepMetrics {
  std::int64_t step = 0;
  double loss = 0;  ///< nats a token, mean over the global batch
  std::optional<double> validation_loss;
  /// validation_loss by the bytes of text, where it is known for how many the tokens stand.
  std::optional<double> validation_bits_per_byte{};
  double grad_norm = 0;  ///< before clipping
  double lr = 0;
  std::int64_t tokens = 0;  ///< trained on since the run began, this step included
  /// Over each source of the data since the run began, in the order of data.train; none in files of older versions.
  std::vector<double> passes{};
  double tokens_per_second = 0;  ///< in the steps themselves, without pauses; so are the figures made of it
  double tokens_per_second_per_rank = 0;
  double tflops = 0;  ///< model TFLOP/s of one rank (6·N rule, no recompute), of the attention that was done
  std::optional<double> tflops_unmasked{};  ///< with data.document_mask: counting attention as if there were no mask
  std::optional<double> mfu;                ///< percent of the dense bf16 peak; none: the device's peak is not known
  /// float8 runs: percent of the peak of the run's own mixture of fp8 and bf16 operations.
  std::optional<double> mfu_mixed;
  std::int64_t memory_bytes = 0;  ///< peak of this rank's buffers
  double memory_percent = 0;
  std::int64_t interval_steps = 1;
  double step_seconds = 0;  ///< of one step on the device, the mean of the interval
  // The pauses, in all of the interval. Validation is that after this step. Files of older versions have the first
  // alone, and it is part of their step_seconds.
  double data_seconds = 0;                           ///< the device waited for batches
  std::optional<double> validation_seconds{};        ///< it validated
  std::optional<double> checkpoint_stall_seconds{};  ///< it stood still for checkpoints
  std::optional<double> wait_seconds{};              ///< it waited for the host to start a step
  std::int64_t non_finite = 0;
  std::optional<std::int64_t> restarts{};  ///< how often the run had been resumed; none in files of older versions
  std::string time{};  ///< when it was logged, as utc_now() has it; empty in files of older versions
};

/// The interval's wall time; none where a pause is not known.
std::optional<double> wall_seconds(const StepMetrics& metrics);

/// A key of a line of metrics.jsonl and the field of StepMetrics that it stands for. Its type says how it is written: a
/// plain number stands on every line, null where it is not finite; what can be empty is left out where it is.
struct MetricField {
  /// TensorBoard's scalars are in the order of these types.
  using Member = std::variant<double StepMetrics::*, std::int64_t StepMetrics::*, std::optional<double> StepMetrics::*,
                              std::optional<std::int64_t> StepMetrics::*, std::vector<double> StepMetrics::*,
                              std::string StepMetrics::*>;

  const char* key;
  Member member;
  std::string_view scalar{};     ///< its name in TensorBoard; empty where it is not shown there
  double scalar_unit = 1;        ///< TensorBoard has the number divided by this
  bool null_if_unknown = false;  ///< an optional one that is on every line
  bool older_lack_it = false;  ///< a plain one that lines of older versions do not have; it is then as in StepMetrics{}
};

/// Every key, in the order of a line.
std::span<const MetricField> metric_fields();

/// The number that TensorBoard shows of the field, of a list the largest; nothing where none was measured.
std::optional<double> scalar_of(const StepMetrics& metrics, const MetricField& field);

std::string to_json(const StepMetrics& metrics);

/// Reads what to_json wrote: null is NaN, memory_percent is 0, keys that are not known are passed over. Usage error,
/// which begins with `source`, where the text is no such line.
StepMetrics step_metrics_of(std::string_view line, const std::string& source);

/// 1234567.8 as "1,234,568".
std::string grouped(double value);

/// "step: 10  loss: 2.1234  grad_norm: 0.5123  memory: 0.31GiB(1.30%)  tps: 4,521  tflops: 0.13  mfu: unknown"
std::string console_line(const StepMetrics& metrics);

/// metrics.jsonl: a line a step (AppendedFile).
class MetricsWriter {
 public:
  explicit MetricsWriter(const std::string& path) : file_(path) {}
  /// Throws internal_error when the disk refuses; the line is kept and written with the next one.
  void write(const StepMetrics& metrics);
  /// What was written, and the file's name, is on the disk when this returns. Throws internal_error when the disk
  /// refuses.
  void sync() { file_.sync(); }

 private:
  AppendedFile file_;
};

}  // namespace octet

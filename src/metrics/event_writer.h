#pragma once

#include <cstdint>
#include <string>

#include "src/metrics/appended_file.h"
#include "src/metrics/step_metrics.h"

namespace octet {

/// Event files for TensorBoard: `events.out.tfevents.TIME.HOST.PROCESS` in a folder. A process never adds to the file
/// of another, whose last record may be cut off: it begins a file of its own, which TensorBoard reads after the older
/// ones of the folder. Written after every step (AppendedFile).
class EventWriter {
 public:
  /// Makes the folder if it is missing. `first_step` is the first that will be written; what older files have from
  /// there on no longer counts. Usage error when the file cannot be made.
  explicit EventWriter(const std::string& folder, std::int64_t first_step = 1);

  /// Scalars loss, validation_loss (when measured), grad_norm, lr, tokens_per_second, tflops, mfu (when known) and
  /// memory (GiB). Throws internal_error when the disk refuses; the record is kept and written with the next one.
  void write(const StepMetrics& metrics);

  const std::string& path() const { return file_.path(); }

 private:
  AppendedFile file_;
};

}  // namespace octet

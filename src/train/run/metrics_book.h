#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "src/comm/agreement.h"
#include "src/metrics/event_file.h"
#include "src/metrics/step_metrics.h"
#include "src/train/start/run_directory.h"

namespace octet {

/// metrics.jsonl and TensorBoard's event files of a run's directory, kept by the rank that writes them. A disk that
/// refuses lines does not end the run: they are kept in memory until it takes them.
class MetricsBook {
 public:
  /// Touches no file.
  explicit MetricsBook(RunDirectory directory) : directory_(std::move(directory)) {}

  /// Moves the lines of steps after `last`, which are done again, to metrics.discarded.jsonl. Returns how many. Before
  /// the book is opened.
  std::int64_t cut(std::int64_t last);
  /// To be called before lines are recorded. `first_event`: the first step for event files; without one there are none.
  void open(std::optional<std::int64_t> first_event);
  /// Adds the line. Where the disk refuses, that is logged, the first time.
  void record(const StepMetrics& metrics);
  /// The lines are on the disk when this returns. Throws internal_error when the disk refuses.
  void sync();
  /// Why lines that the disk has refused can still not be written; nothing where all are, or where it was told before.
  std::optional<Failure> lost();

 private:
  RunDirectory directory_;
  bool disk_refuses_ = false;  ///< the last line
  std::unique_ptr<MetricsWriter> lines_{};
  std::unique_ptr<EventWriter> events_{};
};

}  // namespace octet

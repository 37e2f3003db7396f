#include "src/train/run/metrics_book.h"

#include <utility>

#include "src/base/log.h"
#include "src/metrics/cut_metrics.h"

namespace octet {

std::int64_t MetricsBook::cut(std::int64_t last) {
  return cut_metrics(directory_.metrics(), directory_.discarded_metrics(), last);
}

void MetricsBook::open(std::optional<std::int64_t> first_event) {
  lines_ = std::make_unique<MetricsWriter>(directory_.metrics());
  if (first_event) events_ = std::make_unique<EventWriter>(directory_.tensorboard(), *first_event);
}

// A full disk ends a run only by checkpoint.max_age; the disk may have room again before that.
void MetricsBook::record(const StepMetrics& metrics) {
  const std::optional<Failure> failed = failure_of([&] { lines_->write(metrics); });
  const std::optional<Failure> failed_too = failure_of([&] {
    if (events_) events_->write(metrics);
  });
  const bool refuses = failed || failed_too;
  if (refuses && !disk_refuses_) {
    log::error("{}; metrics are kept in memory until they can be written", (failed ? failed : failed_too)->text);
  }
  disk_refuses_ = refuses;
}

void MetricsBook::sync() {
  if (lines_) lines_->sync();
}

std::optional<Failure> MetricsBook::lost() {
  if (!std::exchange(disk_refuses_, false)) return std::nullopt;  // it is told once
  std::optional<Failure> lost = failure_of([&] {
    directory_.owner.verify();  // the file may be another run's by now
    lines_->sync();
  });
  if (lost) lost->text += "; metrics of the last steps are lost";
  return lost;
}

}  // namespace octet

#pragma once

#include <string>
#include <vector>

#include "src/device/device.h"

namespace octet {

/// What a run that is run dry (DryRun) gives to its streams, in the order of issue, and what waits for what: a piece of
/// work begins when the one before it on its stream is done, and the pieces of other streams that it names.
class DryOrder final : public WorkLog {
 public:
  /// `times`: says how long work takes, and is told of all of it too; null: no time.
  explicit DryOrder(WorkLog* times) : times_(times) {}

  void set_model_stream(const Stream& stream) override;
  double add(const Stream& stream, const Work& work, const Turn& turn) override;
  /// Forgets what was recorded; numbers go on.
  void clear() { lines_.clear(); }

  /// One JSON object a line: number; stream, counted from 0, which is the model's; part of the step and unit; the
  /// kernel or the collective's operation, group and ranks; FLOPs and bytes (Work); `after`, the numbers of other
  /// streams' pieces that it waits for.
  const std::string& json_lines() const { return lines_; }

 private:
  WorkLog* times_;
  std::vector<const Stream*> streams_;
  std::string lines_;
};

}  // namespace octet

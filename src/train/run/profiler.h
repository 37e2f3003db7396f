#pragma once

#include "src/run_config/options/option_texts.h"
#include "src/train/start/rank_context.h"
#include "src/train/start/run_directory.h"

namespace octet {

/// The recording of the steps of train.profile, and the files that it leaves (docs/timeline.md). Main thread; all
/// methods are collective, and do nothing with train.profile off. A file that cannot be written is logged: the run goes
/// on.
class Profiler {
 public:
  /// `done`: finished steps of earlier starts; says so where they leave nothing to profile.
  Profiler(const RunConfig& config, const RankContext& context, const RunDirectory& directory, std::int64_t done);

  /// begin_step() and end_step() enclose all that belongs to a step. After the last step of train.profile the files are
  /// written.
  void begin_step(std::int64_t step);
  void end_step(std::int64_t step);
  /// The run ends with the step that was begun: what there is of the recording is written; where there is none it says
  /// so.
  void end_run(std::int64_t step);

 private:
  void finish();

  const RankContext& context_;
  RunDirectory directory_;
  ProfileSteps steps_;
  bool begun_ = false, finished_ = false;
};

}  // namespace octet

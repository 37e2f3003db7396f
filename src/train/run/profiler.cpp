#include "src/train/run/profiler.h"

#include <cstring>

#include "src/base/log.h"
#include "src/base/replace_file.h"
#include "src/comm/control_exchange.h"
#include "src/profile/chrome_trace.h"
#include "src/train/run/profile_report.h"

namespace octet {
namespace {

std::vector<RankTime> gather_times(const Breakdown& seconds, const RankContext& context) {
  const std::string mine(reinterpret_cast<const char*>(&seconds), sizeof seconds);
  std::vector<RankTime> times;
  for (const std::string& bytes : gather_bytes(mine + context.node, context.control)) {
    RankTime& time = times.emplace_back();
    std::memcpy(&time.seconds, bytes.data(), sizeof time.seconds);
    time.node = bytes.substr(sizeof time.seconds);
  }
  return times;
}

void write(const OwnerMark& owner, const std::string& path, const std::string& text) {
  owner.verify();
  replace_file_or_warn(path, text);
}

}  // namespace

Profiler::Profiler(const RunConfig& config, const RankContext& context, const RunDirectory& directory,
                   std::int64_t done)
    : context_(context), directory_(directory), steps_(*parse_profile_steps(config.train.profile)) {
  if (steps_.none()) return;
  if (context.traces.timeline == nullptr) {
    throw internal_error("train", "train.profile = {} without a timeline", config.train.profile);
  }
  context.traces.timeline->name_stream(context.control.stream(), "control");
  if (done < steps_.last) return;
  finished_ = true;
  if (log::rank() == 0) {
    log::warning("train.profile = {}: the run goes on after step {}; nothing is profiled", config.train.profile, done);
  }
}

void Profiler::begin_step(std::int64_t step) {
  if (finished_ || step < steps_.first || step > steps_.last) return;
  Timeline& timeline = *context_.traces.timeline;
  if (!begun_) {
    context_.stream.synchronize();  // a step may be under way
    context_.control.barrier();     // so that the ranks' zeros are one moment, as well as may be
    timeline.begin();
  }
  begun_ = true;
  timeline.begin_step(step);
}

void Profiler::end_step(std::int64_t step) {
  if (!begun_ || finished_) return;
  context_.traces.timeline->end_step();
  if (step == steps_.last) finish();
}

void Profiler::end_run(std::int64_t step) {
  end_step(step);
  if (steps_.none() || finished_) return;
  if (begun_) {
    finish();
  } else if (log::rank() == 0) {
    log::warning("train.profile = {}-{}: the run ends after step {}; nothing was profiled", steps_.first, steps_.last,
                 step);
  }
}

void Profiler::finish() {
  const Recording recording = context_.traces.timeline->end();
  finished_ = true;
  const int rank = context_.mesh.world().rank();
  const std::vector<RankTime> ranks = gather_times(break_down(recording.spans, recording.wall), context_);
  write(directory_.owner, directory_.profile(rank), chrome_trace(recording, rank, context_.node));
  if (rank != 0) return;
  write(directory_.owner, directory_.profile(), profile_json(recording, ranks));
  log::info("{}", profile_table(recording, ranks));
}

}  // namespace octet

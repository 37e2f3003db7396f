#include "src/train/health/slow_ranks.h"

#include <algorithm>
#include <cstring>

#include "src/base/log.h"
#include "src/comm/host_exchange.h"
#include "src/comm/reductions.h"

namespace octet {
namespace {

/// The node's name behind the numbers.
std::string packed(const RankPace& pace) {
  std::string bytes(2 * sizeof(double), '\0');
  std::memcpy(bytes.data(), &pace.step_seconds, sizeof(double));
  std::memcpy(bytes.data() + sizeof(double), &pace.wait_seconds, sizeof(double));
  return bytes + pace.node;
}

RankPace unpacked(const std::string& bytes) {
  RankPace pace;
  std::memcpy(&pace.step_seconds, bytes.data(), sizeof(double));
  std::memcpy(&pace.wait_seconds, bytes.data() + sizeof(double), sizeof(double));
  pace.node = bytes.substr(2 * sizeof(double));
  return pace;
}

/// Of an even number the larger: of two ranks the one that waits less is no measure for itself.
double upper_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string describe(const SlowRank& slow, const std::vector<RankPace>& ranks, double median, std::int64_t steps) {
  const RankPace& pace = ranks[static_cast<std::size_t>(slow.rank)];
  const double per_step = 1e3 / static_cast<double>(steps);
  return fmt::format(
      "rank {} on {} (in collectives {:.1f} ms of a step of {:.1f} ms, the median rank {:.1f} ms: steps "
      "take {:.2f} times as long)",
      slow.rank, pace.node, pace.wait_seconds * per_step, pace.step_seconds * per_step, median * per_step, slow.factor);
}

std::vector<double> waits_of(const std::vector<RankPace>& ranks) {
  std::vector<double> waits;
  waits.reserve(ranks.size());
  for (const RankPace& r : ranks) waits.push_back(r.wait_seconds);
  return waits;
}

}  // namespace

std::vector<SlowRank> find_slow_ranks(const std::vector<RankPace>& ranks, double factor) {
  const double median = upper_median(waits_of(ranks));
  std::vector<SlowRank> slow;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const double behind = std::min(median - ranks[r].wait_seconds, 0.99 * ranks[r].step_seconds);
    const double times = ranks[r].step_seconds <= 0 ? 1 : ranks[r].step_seconds / (ranks[r].step_seconds - behind);
    if (times >= factor) slow.push_back({static_cast<int>(r), times});
  }
  return slow;
}

SlowRankWatch::SlowRankWatch(std::int64_t every, double factor, WaitMeter* meter, Communicator& control,
                             std::string node)
    : every_(meter == nullptr || control.size() == 1 ? 0 : every), factor_(factor), meter_(meter), control_(control) {
  mine_.node = std::move(node);
}

void SlowRankWatch::step(std::int64_t step) {
  if (every_ == 0 || (first_ != 0 && step - first_ + 1 < every_)) return;
  const auto now = std::chrono::steady_clock::now();
  mine_.wait_seconds = meter_->take();
  mine_.step_seconds = std::chrono::duration<double>(now - since_).count();
  if (first_ != 0) compare(step);  // the first step of a start compiles and allocates
  since_ = now;
  first_ = step + 1;
}

void SlowRankWatch::compare(std::int64_t step) {
  const std::vector<std::string> all = gather_bytes(packed(mine_), reductions::pace(control_));
  std::vector<RankPace> ranks;
  ranks.reserve(all.size());
  for (const std::string& bytes : all) ranks.push_back(unpacked(bytes));
  const std::vector<SlowRank> found = find_slow_ranks(ranks, factor_);
  std::vector<int> now;
  now.reserve(found.size());
  for (const SlowRank& s : found) now.push_back(s.rank);
  if (now == slow_) return;
  const std::string steps = fmt::format("steps {} to {}", first_, step);
  if (control_.rank() == 0) {
    std::string text;
    const double median = upper_median(waits_of(ranks));
    for (const SlowRank& s : found) {
      text += (text.empty() ? "" : ", ") + describe(s, ranks, median, step - first_ + 1);
    }
    found.empty() ? log::info("{}: no rank is slower than the others any more", steps)
                  : log::warning("{}: slower than the others: {} (docs/problems.md, \"It is slower than expected\")",
                                 steps, text);
  }
  slow_ = std::move(now);
}

}  // namespace octet

#include "src/train/health/slow_ranks.h"

#include <algorithm>
#include <cstring>

#include "src/base/log.h"
#include "src/comm/control_exchange.h"

namespace octet {
namespace {

/// The node's name behind the numbers, and the place behind a zero byte.
std::string packed(const RankPace& pace) {
  std::string bytes(2 * sizeof(double), '\0');
  std::memcpy(bytes.data(), &pace.step_seconds, sizeof(double));
  std::memcpy(bytes.data() + sizeof(double), &pace.wait_seconds, sizeof(double));
  return bytes + pace.node + '\0' + pace.place;
}

RankPace unpacked(const std::string& bytes) {
  RankPace pace;
  std::memcpy(&pace.step_seconds, bytes.data(), sizeof(double));
  std::memcpy(&pace.wait_seconds, bytes.data() + sizeof(double), sizeof(double));
  const std::size_t name = 2 * sizeof(double), end = bytes.find('\0', name);
  pace.node = bytes.substr(name, end - name);
  pace.place = bytes.substr(end + 1);
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
      "rank {} on {}{} (in collectives {:.1f} ms of a step of {:.1f} ms, the median rank {:.1f} ms: steps "
      "take {:.2f} times as long)",
      slow.rank, pace.node, pace.place, pace.wait_seconds * per_step, pace.step_seconds * per_step, median * per_step,
      slow.factor);
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

std::string describe_slow_ranks(const std::vector<SlowRank>& slow, const std::vector<RankPace>& ranks,
                                std::int64_t steps) {
  constexpr std::size_t most_nodes = 8;
  struct OfNode {
    std::string node;
    SlowRank slowest;
    int more = 0;
  };
  std::vector<OfNode> nodes;  // in the order of their lowest rank
  for (const SlowRank& s : slow) {
    const std::string& node = ranks[static_cast<std::size_t>(s.rank)].node;
    const auto known = std::ranges::find(nodes, node, &OfNode::node);
    if (known == nodes.end()) {
      nodes.push_back({node, s});
      continue;
    }
    ++known->more;
    if (s.factor > known->slowest.factor) known->slowest = s;
  }
  const double median = upper_median(waits_of(ranks));
  std::string text;
  for (std::size_t n = 0; n < std::min(nodes.size(), most_nodes); ++n) {
    text += (n == 0 ? "" : ", ") + describe(nodes[n].slowest, ranks, median, steps);
    if (nodes[n].more > 0) text += fmt::format(" and {} more there", nodes[n].more);
  }
  if (nodes.size() <= most_nodes) return text;
  int others = 0;
  for (std::size_t n = most_nodes; n < nodes.size(); ++n) others += 1 + nodes[n].more;
  return text + fmt::format(", and {} rank(s) on {} more node(s)", others, nodes.size() - most_nodes);
}

SlowRankWatch::SlowRankWatch(std::int64_t every, double factor, WaitMeter* meter, Communicator& control,
                             std::string node, std::string place)
    : every_(meter == nullptr || control.size() == 1 ? 0 : every), factor_(factor), meter_(meter), control_(control) {
  mine_.node = std::move(node);
  mine_.place = std::move(place);
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
  const std::vector<std::string> all = gather_bytes(packed(mine_), control_);
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
    found.empty() ? log::info("{}: no rank is slower than the others any more", steps)
                  : log::warning("{}: slower than the others: {} (docs/problems.md, \"It is slower than expected\")",
                                 steps, describe_slow_ranks(found, ranks, step - first_ + 1));
  }
  slow_ = std::move(now);
}

}  // namespace octet

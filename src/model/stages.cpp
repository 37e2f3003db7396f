#include "src/model/stages.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Costs of consecutive pieces.
struct Costs {
  std::vector<double> before{0};  ///< sums of the first i pieces
  explicit Costs(const std::vector<double>& pieces) {
    for (const double p : pieces) before.push_back(before.back() + p);
  }
  double of(std::size_t begin, std::size_t end) const { return before[end] - before[begin]; }
  std::size_t size() const { return before.size() - 1; }
};

/// The best cut of the first i pieces into s parts. `add` gives the cost of a cut from that of its parts but the last,
/// and from the cost of the last part.
template <typename Add>
struct BestCut {
  std::vector<std::vector<double>> cost;       ///< [s][i]
  std::vector<std::vector<std::size_t>> last;  ///< [s][i]: where the last part begins

  BestCut(const Costs& costs, int parts, const Add& add)
      : cost(static_cast<std::size_t>(parts) + 1, std::vector<double>(costs.size() + 1, infinite)),
        last(cost.size(), std::vector<std::size_t>(costs.size() + 1, 0)) {
    cost[0][0] = 0;
    for (std::size_t s = 1; s < cost.size(); ++s) {
      for (std::size_t end = s; end <= costs.size(); ++end) {
        for (std::size_t begin = s - 1; begin < end; ++begin) {
          const double with = add(cost[s - 1][begin], costs.of(begin, end));
          // A cut must be better by more than rounding: of equal ones, that with the largest last part stays.
          if (with < cost[s][end] * (1 - 1e-12)) cost[s][end] = with, last[s][end] = begin;
        }
      }
    }
  }
};

std::vector<std::int64_t> most_even(const Costs& costs, int parts) {
  const auto largest = BestCut(costs, parts, [](double before, double part) { return std::max(before, part); });
  const double most = largest.cost.back().back() * (1 + 1e-12);
  const auto even = BestCut(
      costs, parts, [most](double before, double part) { return part > most ? infinite : before + part * part; });
  std::vector<std::int64_t> sizes;
  std::size_t end = costs.size();
  for (auto s = static_cast<std::size_t>(parts); s > 0; --s) {
    sizes.push_back(static_cast<std::int64_t>(end - even.last[s][end]));
    end = even.last[s][end];
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

}  // namespace

std::vector<Stage> stages_of(const LlamaSettings& s) {
  std::vector<Stage> stages;
  const std::vector<UnitRange> whole{{0, head_unit(s.model) + 1}};
  for (const UnitRange& units : s.stages.empty() ? whole : s.stages) {
    const std::int64_t first = std::max(units.begin - block_unit(0), 0);
    const auto end = std::min<std::int64_t>(units.end - block_unit(0), s.model.layers);
    if (first >= end) {
      throw internal_error("model", "units {} to {} are no stage: it needs a block", units.begin, units.end - 1);
    }
    stages.push_back({units, first, end, RecomputePolicy::of(s.recompute, end), units.has(head_unit(s.model))});
  }
  return stages;
}

std::vector<double> unit_flops(const ModelConfig& model, std::int64_t seq_len) {
  const double head = 6.0 * static_cast<double>(model.dim * model.vocab_size);
  const double all = model.flops_per_token(static_cast<double>(seq_len));
  std::vector<double> units(static_cast<std::size_t>(model.layers) + 2,
                            (all - head) / static_cast<double>(model.layers));
  units.front() = 0;
  units.back() = head;
  return units;
}

std::vector<UnitRange> even_stages(const ModelConfig& model, std::int64_t seq_len, int count) {
  if (count > model.layers) {
    throw usage_error("model", "{} pipeline stages, but the model has {} blocks, and each stage needs one", count,
                      model.layers);
  }
  const std::vector<double> units = unit_flops(model, seq_len);
  std::vector<double> blocks(units.begin() + 1, units.end() - 1);
  blocks.front() += units.front();
  blocks.back() += units.back();
  return stages_of_blocks(model, most_even(Costs(blocks), count));
}

std::vector<UnitRange> stages_of_blocks(const ModelConfig& model, const std::vector<std::int64_t>& blocks) {
  const std::int64_t sum = std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0});
  if (sum != model.layers || std::ranges::any_of(blocks, [](std::int64_t n) { return n < 1; })) {
    throw usage_error("model", "stages of {} blocks: expected at least one in each, and {} in all, as the model has",
                      fmt::join(blocks, ", "), model.layers);
  }
  std::vector<UnitRange> stages;
  int unit = block_unit(0);
  for (const std::int64_t n : blocks) {
    stages.push_back({unit, unit + static_cast<int>(n)});
    unit = stages.back().end;
  }
  stages.front().begin = embedding_unit;
  stages.back().end = head_unit(model) + 1;
  return stages;
}

}  // namespace octet

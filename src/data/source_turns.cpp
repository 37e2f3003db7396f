#include "src/data/source_turns.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "src/data/mixture.h"

namespace octet {

SourceTurns::SourceTurns(std::int64_t version, std::span<const DataStage> stages, std::int64_t global_batch)
    : version_(version) {
  for (const DataStage& stage : stages) add(stage, (stage.step - 1) * global_batch);
}

void SourceTurns::add(const DataStage& from, std::int64_t first) {
  Stage stage{.first = first, .before = {}, .sources = {}, .mixture = nullptr};
  stage.before = stages_.empty() ? std::vector<std::int64_t>(from.weights.size(), 0) : taken(first);
  std::vector<double> weights;
  for (std::size_t i = 0; i < from.weights.size(); ++i) {
    if (from.weights[i] == 0) continue;
    stage.sources.push_back(static_cast<std::int32_t>(i));
    weights.push_back(from.weights[i]);
  }
  stage.mixture = make_mixture(version_, weights);
  stages_.push_back(std::move(stage));
}

const SourceTurns::Stage& SourceTurns::stage_of(std::int64_t sample) const {
  const auto next = std::ranges::upper_bound(stages_, sample, {}, &Stage::first);
  return *std::prev(next);
}

Mixture::Turn SourceTurns::turn(std::int64_t sample) const {
  const Stage& stage = stage_of(sample);
  const auto [place, number] = stage.mixture->turn(sample - stage.first);
  const std::int32_t source = stage.sources[static_cast<std::size_t>(place)];
  return {.source = source, .number = stage.before[static_cast<std::size_t>(source)] + number};
}

std::vector<std::int64_t> SourceTurns::taken(std::int64_t samples) const {
  const Stage& stage = stage_of(samples);
  std::vector<std::int64_t> all = stage.before;
  const std::vector<std::int64_t> here = stage.mixture->taken(samples - stage.first);
  for (std::size_t place = 0; place < here.size(); ++place) {
    all[static_cast<std::size_t>(stage.sources[place])] += here[place];
  }
  return all;
}

double SourceTurns::largest_share(std::int32_t source) const {
  double largest = 0;
  for (const Stage& stage : stages_) {
    const auto shares = stage.mixture->shares();
    const auto found = std::ranges::find(stage.sources, source);
    if (found == stage.sources.end()) continue;
    const std::int64_t all = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
    const auto own = shares[static_cast<std::size_t>(found - stage.sources.begin())];
    largest = std::max(largest, static_cast<double>(own) / static_cast<double>(all));
  }
  return largest;
}

std::vector<std::uint64_t> SourceTurns::key() const {
  std::vector<std::uint64_t> key;
  const auto put = [&](std::int64_t value) { key.push_back(static_cast<std::uint64_t>(value)); };
  const bool is_old = version_ == 1 && stages_.size() == 1 && stages_[0].sources.size() == stages_[0].before.size();
  if (!is_old) put(version_);
  for (const Stage& stage : stages_) {
    if (!is_old) {
      put(stage.first);
      put(static_cast<std::int64_t>(stage.sources.size()));
      std::ranges::for_each(stage.sources, put);
    }
    std::ranges::for_each(stage.mixture->shares(), put);
  }
  return key;
}

}  // namespace octet

#include "src/data/data_stages.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/error.h"

namespace octet {
namespace {

/// The last step without that source; 0 where it was there from the start.
std::int64_t absent_until(const DataHistory& history, std::size_t source) {
  for (const AddedSource& added : history.added) {
    if (static_cast<std::size_t>(added.source) == source) return added.after;
  }
  return 0;
}

void expect_weight(double weight, const std::string& key) {
  if (weight >= 0 && std::isfinite(weight)) return;
  throw usage_error("data", "{} is {}; expected a positive number, or 0 for none of that source", key, weight);
}

std::string percent(double share) {
  return fmt::format("{:.2f}", 100 * share);
}

}  // namespace

std::vector<DataStage> stages_of(const DataConfig& data) {
  std::vector<DataStage> stages(1);
  for (std::size_t i = 0; i < data.train.size(); ++i) {
    stages[0].weights.push_back(absent_until(data.history, i) == 0 ? data.train[i].weight : 0);
  }
  const auto weights_from = [&](std::int64_t step) -> std::vector<double>& {
    if (stages.back().step != step) stages.push_back({step, stages.back().weights});
    return stages.back().weights;
  };
  std::vector<std::int64_t> steps;
  for (const WeightChange& change : data.changes) steps.push_back(change.step);
  for (const AddedSource& added : data.history.added) steps.push_back(added.after + 1);
  std::ranges::sort(steps);
  for (const std::int64_t step : steps) {
    std::vector<double>& weights = weights_from(step);
    for (const AddedSource& added : data.history.added) {
      const auto source = static_cast<std::size_t>(added.source);
      if (added.after + 1 == step) weights[source] = data.train[source].weight;
    }
    for (const WeightChange& change : data.changes) {
      if (change.step != step) continue;
      weights = change.weights;
      weights.resize(data.train.size(), 0);
    }
  }
  return stages;
}

void check_mixture(const DataConfig& data) {
  if (data.train.empty()) throw usage_error("data", "data.train is empty; expected at least one token file");
  for (std::size_t i = 0; i < data.train.size(); ++i) {
    expect_weight(data.train[i].weight, fmt::format("data.train[{}].weight", i));
  }
  std::int64_t before = 1;
  for (std::size_t c = 0; c < data.changes.size(); ++c) {
    const WeightChange& change = data.changes[c];
    if (change.step <= before) {
      throw usage_error("data", "data.changes[{}].step is {}; expected {}", c, change.step,
                        c == 0 ? "2 or more: the weights of step 1 stand in data.train"
                               : fmt::format("a step after {}, that of the change before it", before));
    }
    before = change.step;
    if (change.weights.size() > data.train.size()) {
      throw usage_error("data",
                        "data.changes[{}].weights has {} numbers; expected {}, one for each source of data.train", c,
                        change.weights.size(), data.train.size());
    }
    for (std::size_t i = 0; i < change.weights.size(); ++i) {
      expect_weight(change.weights[i], fmt::format("data.changes[{}].weights[{}]", c, i));
    }
  }
  for (const DataStage& stage : stages_of(data)) {
    if (std::ranges::any_of(stage.weights, [](double w) { return w > 0; })) continue;
    throw usage_error("data", "data.{}: from step {} on all weights are 0; expected one source with a positive one",
                      stage.step == 1 ? "train" : "changes", stage.step);
  }
}

void check_changes(const DataConfig& data) {
  for (std::size_t c = 0; c < data.changes.size(); ++c) {
    const WeightChange& change = data.changes[c];
    for (std::size_t i = 0; i < data.train.size(); ++i) {
      const bool is_there = absent_until(data.history, i) < change.step, has_weight = i < change.weights.size();
      if (is_there && !has_weight) {
        throw usage_error("data",
                          "data.changes[{}].weights has {} number(s); expected one for each source of data.train that "
                          "is there at step {}, {} too",
                          c, change.weights.size(), change.step, data.train[i].path);
      }
      if (!is_there && has_weight && change.weights[i] != 0) {
        throw usage_error("data", "data.changes[{}].weights[{}] is {} at step {}; {} comes after step {}: expected 0",
                          c, i, change.weights[i], change.step, data.train[i].path, absent_until(data.history, i));
      }
    }
  }
}

std::vector<std::string> stage_texts(const DataConfig& data) {
  const std::vector<DataStage> stages = stages_of(data);
  const auto sum_of = [](const DataStage& s) { return std::accumulate(s.weights.begin(), s.weights.end(), 0.0); };
  std::vector<std::string> texts;
  for (std::size_t k = 1; k < stages.size(); ++k) {
    std::string parts;
    for (std::size_t i = 0; i < data.train.size(); ++i) {
      const std::string then = percent(stages[k - 1].weights[i] / sum_of(stages[k - 1]));
      const std::string now = percent(stages[k].weights[i] / sum_of(stages[k]));
      if (then != now)
        parts += fmt::format("{} {} {} -> {} %", parts.empty() ? "" : ",", data.train[i].path, then, now);
    }
    texts.push_back(fmt::format("from step {} on:{}", stages[k].step, parts.empty() ? " the same shares" : parts));
  }
  return texts;
}

}  // namespace octet

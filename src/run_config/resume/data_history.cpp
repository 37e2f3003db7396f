#include "src/run_config/resume/data_history.h"

#include <algorithm>
#include <iterator>

#include "src/base/error.h"
#include "src/data/data_stages.h"
#include "src/data/source_turns.h"
#include "src/data/tokenizer_identity.h"

namespace octet {
namespace {

constexpr const char* and_read = "(docs/problems.md, \"Settings differ from those of the run\")";

std::string text_of(const WeightChange& change) {
  return fmt::format("{{step: {}, weights: [{}]}}", change.step, fmt::join(change.weights, ", "));
}

/// Weights that are not said are 0.
bool same_change(const WeightChange& a, const WeightChange& b) {
  const auto padded = [](WeightChange change, std::size_t size) {
    change.weights.resize(std::max(change.weights.size(), size), 0);
    return change;
  };
  return padded(a, b.weights.size()) == padded(b, a.weights.size());
}

void expect_same_past(const RunConfig& then, const RunConfig& now, std::int64_t done, const std::string& source) {
  const auto old = passed_changes(then.data, done), present = passed_changes(now.data, done);
  for (std::size_t i = 0; i < std::max(old.size(), present.size()); ++i) {
    const bool same = i < old.size() && i < present.size() && same_change(old[i], present[i]);
    if (same) continue;
    const auto said = [&](const std::vector<WeightChange>& all) {
      return i < all.size() ? text_of(all[i]) : std::string("nothing");
    };
    throw usage_error("config",
                      "{}: data.changes has {} there, {} now, and step {} is done: what has been read cannot change; "
                      "expected the same up to that step {}",
                      source, said(old), said(present), done, and_read);
  }
}

/// The weights of the sources that `then` has; those of one more are not compared.
void expect_same_weights(const RunConfig& then, const RunConfig& now, const std::string& source) {
  const auto key_with = [&](const RunConfig& weights) {
    DataConfig data = then.data;
    data.changes.clear();
    for (std::size_t i = 0; i < data.train.size(); ++i) data.train[i].weight = weights.data.train[i].weight;
    check_mixture(data);
    return SourceTurns(data.history.order, stages_of(data), 1).key();
  };
  if (key_with(then) == key_with(now)) return;  // larger by the same factor is the same
  std::size_t i = 0;
  while (then.data.train[i].weight == now.data.train[i].weight) ++i;
  throw usage_error("config",
                    "{}: data.train[{}].weight = {} there, {} now; the run can only go on with the same: data.changes "
                    "changes weights from a step on {}",
                    source, i, then.data.train[i].weight, now.data.train[i].weight, and_read);
}

/// Where only the checkpoint or only the present data name a tokenizer, nothing speaks against it: side files may say
/// more today than then, or less.
void expect_same_tokenizer(const RunConfig& then, const RunConfig& now, const std::string& source) {
  const std::string &old = then.data.history.tokenizer, &present = now.data.history.tokenizer;
  if (old.empty() || present.empty() || old == present) return;
  const TokenizerIdentity a = read_tokenizer_identity(old, source), b = read_tokenizer_identity(present, "data.train");
  if (same_tokenizer(a, b)) return;
  throw usage_error(
      "config", "{}: the data were made with the tokenizer {} there, {} now; the run can only go on with the same {}",
      source, text_of(a), text_of(b), and_read);
}

}  // namespace

std::vector<WeightChange> passed_changes(const DataConfig& data, std::int64_t done) {
  std::vector<WeightChange> passed;
  std::ranges::copy_if(data.changes, std::back_inserter(passed),
                       [&](const WeightChange& change) { return change.step <= done; });
  return passed;
}

DataHistory data_history_after(const RunConfig& then, const RunConfig& now, std::int64_t done,
                               const std::string& source) {
  DataHistory history;
  expect_same_tokenizer(then, now, source);
  history.tokenizer = now.data.history.tokenizer;
  if (done == 0 && history.tokenizer.empty()) history.tokenizer = then.data.history.tokenizer;  // of imported weights
  if (done > 0) {
    const std::size_t old = then.data.train.size(), present = now.data.train.size();
    if (present < old) {
      throw usage_error("config",
                        "{}: data.train has {} sources there, {} now; the run can only go on with all of them: a "
                        "weight of 0 in data.changes leaves one out from a step on {}",
                        source, old, present, and_read);
    }
    expect_same_weights(then, now, source);
    expect_same_past(then, now, done, source);
    history = then.data.history;
    if (history.tokenizer.empty()) history.tokenizer = now.data.history.tokenizer;
    const auto& allowed = now.checkpoint.allow_changes;
    if (present > old && std::ranges::find(allowed, "data.train") == allowed.end()) {
      throw usage_error("config",
                        "{}: data.train has {} sources there, {} now; to add {} from step {} on, change it on purpose "
                        "with --checkpoint.allow_changes data.train {}",
                        source, old, present, now.data.train[old].path, done + 1, and_read);
    }
    for (std::size_t i = old; i < present; ++i) history.added.push_back({static_cast<std::int64_t>(i), done});
  }
  DataConfig data = now.data;
  data.history = history;
  check_mixture(data);
  check_changes(data);
  return history;
}

}  // namespace octet

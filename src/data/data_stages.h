#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/data/data_config.h"

namespace octet {

/// The weights of all sources of a configuration from a step on, up to that of the next stage.
struct DataStage {
  std::int64_t step = 1;        ///< its first
  std::vector<double> weights;  ///< 0: nothing of that source is read

  bool operator==(const DataStage&) const = default;
};

/// The stages of a run, the first at step 1. A source that was added comes in, with its weight of data.train, beside
/// those in force then. Weights that a change does not say are 0.
std::vector<DataStage> stages_of(const DataConfig& data);

/// Usage errors, each with key and value: no source, weights that are negative, not finite or all 0 together, steps of
/// changes that do not rise from 2 on, more weights than sources.
void check_mixture(const DataConfig& data);

/// Besides, that each change has a weight for every source that is there at its step, and none for those that come
/// later: for data whose history is known.
void check_changes(const DataConfig& data);

/// How the mixture changes with each stage after the first: "from step 100 on: a 50.00 -> 25.00 %, b ...", a text each,
/// with the sources' paths. A source of the same share is left out.
std::vector<std::string> stage_texts(const DataConfig& data);

}  // namespace octet

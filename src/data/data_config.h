#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/data/mixture.h"

namespace octet {

/// A token file pair PATH.bin / PATH.idx and its share in the mixture.
struct DataSource {
  std::string path;
  double weight = 1.0;  ///< from the source's first step on, up to a change; 0: it waits for one
};

/// Other weights from a step on.
struct WeightChange {
  std::int64_t step = 0;
  std::vector<double> weights;  ///< in the order of DataConfig::train, of those sources that are there by then

  bool operator==(const WeightChange&) const = default;
};

/// A source that a run got after it had begun; those that are not named so were there from the start.
struct AddedSource {
  std::int64_t source = 0;  ///< place in DataConfig::train
  std::int64_t after = 0;   ///< the last step without it

  bool operator==(const AddedSource&) const = default;
};

/// What the run so far has made of its data; no setting: checkpoints keep it.
struct DataHistory {
  std::int64_t order = newest_data_order;  ///< the version of the order (mixture.h) that the run began with
  std::vector<AddedSource> added{};        ///< by rising place
  /// Which tokenizer made the data, as JSON (TokenizerIdentity); empty where no side file says it.
  std::string tokenizer{};

  bool operator==(const DataHistory&) const = default;
};

struct DataConfig {
  std::vector<DataSource> train{};
  std::vector<WeightChange> changes{};  ///< by rising step
  double validation_fraction = 0.01;    ///< of the samples of each source, set apart
  double max_passes = 4;                ///< over a source: a run that makes more is warned
  bool document_mask = false;           ///< attention stays within documents, and positions begin with each
  bool loss_on_first = true;            ///< with document_mask: the first token of a document counts as a target
  DataHistory history{};
  std::string origin{};  ///< where `train` was set, "run.yaml:7" or "command line", for messages; empty: not known
};

}  // namespace octet

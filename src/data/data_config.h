#pragma once

#include <string>
#include <vector>

namespace octet {

/// A token file pair PATH.bin / PATH.idx and its share in the mixture.
struct DataSource {
  std::string path;
  double weight = 1.0;
};

struct DataConfig {
  std::vector<DataSource> train;
  double validation_fraction = 0.01;  ///< of the samples of each source, set apart
  double max_passes = 4;              ///< over a source: a run that makes more is warned
};

}  // namespace octet

#include "src/train/start/open_data.h"

#include <string>
#include <vector>

#include "src/train/start/open_token_files.h"
#include "src/train/step/run_settings.h"

namespace octet {

std::unique_ptr<Sampler> open_data(const RunConfig& config, Communicator& control) {
  const DataConfig& data = config.data;
  std::vector<std::string> paths;
  for (const DataSource& source : data.train) paths.push_back(source.path);
  const auto error_of = [&](const Error& error) { return error_of_data_train(error, data.origin); };
  const PairUse use = data.document_mask ? PairUse::documents : PairUse::tokens;
  return std::make_unique<Sampler>(data.train, open_token_files(paths, use, error_of, control), sampler_config(config));
}

}  // namespace octet

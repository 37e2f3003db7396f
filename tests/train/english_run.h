#pragma once

#include <string>

#include "src/base/options/yaml.h"
#include "src/train/options/model_file.h"
#include "src/train/options/run_options.h"

namespace octet {

/// What configs/runs/english-5m.yaml says, with its model.
inline RunConfig english_run() {
  const std::string file = OCTET_SOURCE_DIR "/configs/runs/english-5m.yaml";
  RunConfig config;
  Schema schema;
  declare_options(schema, config);
  read_yaml_file(schema, file);
  resolve_model(config, file, file);
  return config;
}

}  // namespace octet

#pragma once

#include <string>
#include <vector>

#include "src/base/options/schema.h"
#include "src/run_config/run_config.h"

namespace octet {

/// The keys of a model file (configs/models/NAME.yaml), which stand at its top.
void declare_model_options(Schema& schema, ModelConfig& model);

/// The model's shape as the text of a model file.
std::string to_yaml(ModelConfig model);

/// Reads a model file and finishes the shape. ModelConfig::name is the file's name without its extension. Throws usage
/// errors that name the file.
ModelConfig read_model(const std::string& path);

/// A key of the model's file with another value.
struct ModelDifference {
  std::string key, there, here;
};
/// The keys in which two models differ, in the file's order. max_positions is none: weights do not depend on it.
std::vector<ModelDifference> model_differences(ModelConfig there, ModelConfig here);

/// Folders in which a model's name is looked up, in this order: ../models from the folder of the run's file (none if
/// `run_file` is empty), configs/models in the current directory, share/octet/configs/models beside the folder of the
/// installed program, configs/models in the source tree.
std::vector<std::string> model_folders(const std::string& run_file);

/// Reads the model that config.model_name names into config.model. A value with a slash or the extension .yaml or .yml
/// is a path, relative to the folder of the run's file or else to the current directory. Where the result depends on
/// the run's file, model_name becomes an absolute path, so that the resolved configuration stands for itself. `origin`
/// is where the name was set, for messages.
void resolve_model(RunConfig& config, const std::string& run_file, const std::string& origin);

}  // namespace octet

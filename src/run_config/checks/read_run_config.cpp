#include "src/run_config/checks/read_run_config.h"

#include "src/run_config/checks/validate.h"
#include "src/run_config/options/model_file.h"
#include "src/run_config/options/run_options.h"

namespace octet {

RunConfig read_run_config(const Arguments& arguments, Origins& origins) {
  RunConfig config;
  Schema schema;
  declare_options(schema, config);
  apply(arguments, schema);
  schema.check_required(arguments.file.empty() ? "command line" : arguments.file, true);
  origins = schema.origins();
  if (config.data.train.empty()) {
    throw usage_error("config", "{}: data.train = []: expected at least one path", origins.at("data.train"));
  }
  config.data.origin = origins.at("data.train");
  resolve_model(config, arguments.file, origins.at("model"));
  validate(config, origins);
  return config;
}

}  // namespace octet

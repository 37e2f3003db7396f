#pragma once

#include <string>

#include "src/base/options/schema.h"
#include "src/run_config/run_config.h"

namespace octet {

/// Every option of a run, bound to the fields of `config`, whose values are the defaults.
void declare_options(Schema& schema, RunConfig& config);

/// The whole configuration as YAML text: --print-config, config.yaml of a run. It reads back to the same configuration.
std::string to_yaml(RunConfig config);

/// The sections of what a checkpoint stores beside the options: what the run so far has made of its schedule, and of
/// its data.
inline constexpr const char* schedule_history = "schedule_history";
inline constexpr const char* data_history = "data_history";

/// What a checkpoint stores of the configuration: every option, a section model_shape with the keys of the model's
/// file, so that the checkpoint needs no other file to be understood, schedule_history and data_history.
void declare_stored_options(Schema& schema, RunConfig& config);
std::string stored_yaml(RunConfig config);
/// Reads what a checkpoint in `directory` stores of its run; `schema`, empty before, says which of the options it had.
/// The model is finished. Usage error that names the checkpoint where it lacks the model's shape.
void read_stored_options(Schema& schema, RunConfig& config, const std::string& text, const std::string& directory);

/// docs/configuration.md.
std::string reference_page();

}  // namespace octet

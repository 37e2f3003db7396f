#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/run_config/run_config.h"

namespace octet {

/// An option that has another value now than when a checkpoint was written.
struct SettingChange {
  std::string key;
  std::string then;
  std::string now;
  bool decides = false;   ///< it changes the result of the run, and checkpoint.allow_changes lets it pass
  bool same_bits = true;  ///< false: it changes how the result is rounded
};

/// The options in which `config` differs from the text that a checkpoint holds (stored_yaml of run_options.h), in the
/// schema's order. An option that a run's text lacks counts as its default; of the text of an imported checkpoint,
/// which has a shape alone, nothing else is compared. Keys that this version does not know come back in `unknown`.
/// `source` names the text in messages. Usage error for a text that cannot be read.
std::vector<SettingChange> setting_changes(const std::string& stored, const std::string& source,
                                           const RunConfig& config, std::vector<std::string>& unknown);

/// The settings of that text; those that it does not say are as in `config`. Usage error as above.
RunConfig stored_config(const std::string& stored, const std::string& source, const RunConfig& config);

/// Throws a usage error that names key and both values for the first change that resume_rules.h does not allow. Returns
/// the others, with what they decide.
std::vector<SettingChange> check_settings(const std::string& stored, const std::string& source, const RunConfig& config,
                                          std::vector<std::string>& unknown);

/// Throws a usage error for a checkpoint of a step that lies beyond the run's last one.
void check_length(std::int64_t step, const RunConfig& config, const std::string& source);

/// Tells what check_settings let pass, what of it changes bits, and loudly what decides the result.
void log_changes(const std::vector<SettingChange>& changes, const std::vector<std::string>& unknown,
                 const std::string& source);

}  // namespace octet

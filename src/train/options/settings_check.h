#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/train/options/run_config.h"

namespace octet {

/// An option that has another value now than when a checkpoint was written.
struct SettingChange {
  std::string key;
  std::string then;
  std::string now;
  bool decides = false;   ///< it changes the result of the run, and checkpoint.allow_changes lets it pass
  bool same_bits = true;  ///< false: it changes how the result is rounded
};

/// The options in which `config` differs from the text that a checkpoint holds (stored_yaml of
/// src/train/options/run_options.h), in the schema's order. An option that a run's text lacks counts as its default; of
/// the text of an imported checkpoint, which has a shape alone, nothing else is compared. Keys that this version does
/// not know come back in `unknown`. `source` names the text in messages. Usage error for a text that
/// cannot be read.
std::vector<SettingChange> setting_changes(const std::string& stored, const std::string& source,
                                           const RunConfig& config, std::vector<std::string>& unknown);

/// The settings of that text; those that it does not say are as in `config`. Usage error as above.
RunConfig stored_config(const std::string& stored, const std::string& source, const RunConfig& config);

/// Says whether a run may go on with another value of this option. It may for what only says where, how fast and how
/// long it computes, and what it reports. Everything else decides the result, by more than rounding. Paths of the data
/// may change; their content may not (Sampler::fingerprint).
bool may_change(const std::string& key, const RunConfig& config);

/// Says whether all numbers come out the same to the bit with another value of an option that may change. With another
/// layout, device or choice of GEMMs sums are formed in another order.
bool keeps_bits(const std::string& key, const RunConfig& config);

/// Says whether checkpoint.allow_changes may name this option. It may name how the rest of a run is optimized and
/// computed, and never what the stored state would not fit (the model's shape) or what would repeat or leave out
/// samples (seed, batch). Of the data it may name what is to come (data_check.h).
bool may_be_allowed(const std::string& key);
/// Those and data.train, for people: "precision, ..., and all options of optimizer, schedule, float8".
std::string allowed_changes_text();

/// Throws a usage error that names key and both values for the first change that is not allowed. Returns the others,
/// with what they decide.
std::vector<SettingChange> check_settings(const std::string& stored, const std::string& source, const RunConfig& config,
                                          std::vector<std::string>& unknown);

/// Throws a usage error for a checkpoint of a step that lies beyond the run's last one.
void check_length(std::int64_t step, const RunConfig& config, const std::string& source);

/// Tells what check_settings let pass, what of it changes bits, and loudly what decides the result.
void log_changes(const std::vector<SettingChange>& changes, const std::vector<std::string>& unknown,
                 const std::string& source);

}  // namespace octet

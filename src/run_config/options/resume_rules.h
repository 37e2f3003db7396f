#pragma once

#include <string>

#include "src/run_config/run_config.h"

namespace octet {

// What a resumed run may change, option by option; setting_changes.h compares a checkpoint with it.

/// Says whether a run may go on with another value of this option. It may for what only says where, how fast and how
/// long it computes, and what it reports. Everything else decides the result, by more than rounding. Paths of the data
/// may change; their content may not (Sampler::fingerprint).
bool may_change(const std::string& key, const RunConfig& config);

/// Says whether all numbers come out the same to the bit with another value of an option that may change. With another
/// layout, device or choice of GEMMs sums are formed in another order.
bool keeps_bits(const std::string& key, const RunConfig& config);

/// Says whether checkpoint.allow_changes may name this option. It may name how the rest of a run is optimized and
/// computed, and never what the stored state would not fit (the model's shape) or what would repeat or leave out
/// samples (seed, batch). Of the data it may name what is to come (data_history.h).
bool may_be_allowed(const std::string& key);
/// Those and data.train, for people: "precision, ..., and all options of optimizer, schedule, float8".
std::string allowed_changes_text();

}  // namespace octet

#pragma once

#include <cstdint>
#include <string>

#include "src/run_config/run_config.h"

namespace octet {

/// The data history with which a run goes on after `done` steps; `then` are the settings of its checkpoint
/// (stored_config). It is the history of `then`; with checkpoint.allow_changes data.train, sources that `now` has at
/// the end of its list and `then` has not are noted in it as added here. A checkpoint of step 0 has read nothing: it
/// gets the history of a new run. Usage error, which begins with `source`, where finished steps would have read
/// something else (a source fewer, other weights, a change that has passed), and where a change does not have a weight
/// for each source that is there. What the files hold is not looked at.
DataHistory data_history_after(const RunConfig& then, const RunConfig& now, std::int64_t done,
                               const std::string& source);

/// The changes of step `done` and before.
std::vector<WeightChange> passed_changes(const DataConfig& data, std::int64_t done);

}  // namespace octet

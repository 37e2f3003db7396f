#pragma once

#include <string>

#include "checkpoints/export.h"
#include "jobs/octet/checkpoint/tool.h"

namespace octet::tool {

/// Adds to an export the ids that begin and end texts and the files of the tokenizer: those that an imported checkpoint
/// has kept of its folder, else the tokenizer that the run's data were made with, as far as the run has a copy.
/// options.model and max_positions are set. Returns a text of what is missing; empty where nothing is.
std::string add_tokenizer(checkpoint::ExportOptions& options, const RunConfig& config, const OpenCheckpoint& from);

}  // namespace octet::tool

#pragma once

#include <string>

#include "checkpoints/hugging_face/export.h"
#include "jobs/octet/checkpoint/tool.h"

namespace octet::tool {

/// Adds to an export the ids that begin and end texts and the files of the tokenizer: those that an imported checkpoint
/// has kept of its folder, else the tokenizer that the run's data were made with, as far as the run has a copy or
/// `given`, its file or the folder where it stands (may be empty), is one. options.model and max_positions are set.
/// Returns a text of what is missing; empty where nothing is. Usage error for a given one that is another, or is not
/// wanted.
std::string add_tokenizer(checkpoint::ExportOptions& options, const RunConfig& config, const OpenCheckpoint& from,
                          const std::string& given);

}  // namespace octet::tool

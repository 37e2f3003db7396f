#pragma once

#include "src/base/options/arguments.h"
#include "src/base/options/schema.h"
#include "src/run_config/run_config.h"

namespace octet {

/// The configuration of a run: the defaults, over them the file that the arguments name, and over it the options on the
/// command line. The model's file is read too, and the whole is valid for some number of ranks. `origins` becomes the
/// place of each option that was set, for messages of later checks (laid_out). Throws usage errors.
RunConfig read_run_config(const Arguments& arguments, Origins& origins);

}  // namespace octet

#pragma once

#include <string>
#include <vector>

#include "jobs/dry_run/dry_run_options.h"
#include "jobs/run/command_line.h"
#include "src/comm/mesh.h"

namespace octet {

/// What `octet-train RUN.yaml --dry-run` was asked for.
struct DryCommand {
  DryRunOptions options;
  CommandLine run;  ///< with its layout resolved, where its action is to run
  MeshShape mesh;   ///< of that layout
};

/// Says whether a command line asks for a dry run.
bool asks_for_dry_run(const std::vector<std::string>& words);

/// Throws a usage error for an option that only a dry run has, in a command line that asks for none.
void refuse_dry_run_options(const std::vector<std::string>& words);

/// Reads such a command line. Throws usage errors.
DryCommand parse_dry_run(const std::vector<std::string>& words);

}  // namespace octet

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/comm/communicator.h"

namespace octet::files {

// All hosts of a run see the same files. Where a mount is missing on one host, that host is at fault, and not what the
// run was asked to do. Collective over `control`, main thread. These functions throw as read_together does
// (read_together.h); where it returns that no rank sees a file which `look` could not read, all throw the same usage
// error that names the file. So when one of these functions returns, `look` has run to its end. For files that need not
// exist, `look` asks files::is_there (src/base/read_file.h).

/// Runs `look` on every rank, again where it throws a ReadError.
void look_together(Communicator& control, const std::function<void()>& look);

/// Runs `look` on rank 0 alone, again where it throws a ReadError, which ends on all as in agree_on_reading. Anything
/// else that it throws comes out on rank 0 while the others wait.
void look_by_first(Communicator& control, const std::function<void()>& look);

/// Says whether this rank is the first of its node and looks at files for the whole node. The other ranks are assumed
/// to see what it sees, which is true unless each rank has mounts of its own.
bool looks_for_node(Communicator& control);

/// What is there for one host has to be there for all, and readable. A path that none has is nobody's error here. One
/// rank of each node looks, at each path once and by one opening. All ranks pass the same paths.
void expect_same_files(const std::vector<std::string>& paths, Communicator& control);

}  // namespace octet::files

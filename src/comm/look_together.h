#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/comm/communicator.h"

namespace octet::files {

// All hosts of a run see the same files. Where a mount is missing on one of them, it is that host's matter and no
// mistake in what the run was asked to do. Collective over the hosts, main thread; throws as read_together
// (read_together.h), and where that returns that no rank sees a file which `look` could not read, all throw the same
// usage error that names the file. So `look` has come to its end wherever one of these returns. It asks
// files::is_there (src/base/read_file.h) for what need not be there.

/// Runs `look` on every rank, again where it throws a ReadError.
void look_together(Communicator& hosts, const std::function<void()>& look);

/// Runs `look` on rank 0 alone, again where it throws a ReadError, which ends on all as in agree_on_reading. Anything
/// else that it throws comes out on rank 0 while the others wait.
void look_by_first(Communicator& hosts, const std::function<void()>& look);

/// Says whether this rank is the first of its node, which looks for all of it. What it sees is taken for what the
/// others see, as it is but where each rank has mounts of its own.
bool looks_for_node(Communicator& hosts);

/// What is there for one host has to be there for all, and readable. A path that none has is nobody's error here. One
/// rank of each node looks, at each path once and by one opening. All ranks pass the same paths.
void expect_same_files(const std::vector<std::string>& paths, Communicator& hosts);

}  // namespace octet::files

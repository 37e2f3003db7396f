#pragma once

#include <functional>
#include <string>

#include "src/comm/communicator.h"
#include "src/comm/operation.h"

namespace octet::checkpoint {

// How ranks wait for files that threads of some of them read or write. All poll together, and where the file system
// hangs the one whose file it is says so, with its host and the path: the others, which wait for that rank alone, would
// speak of a lost peer.

/// operation.check_deadline(), for a rank whose own thread is at work at that path.
void check_answer(const OperationScope& operation, const std::string& path);

/// Waits until all ranks are done. `what` is a literal, and `path` where this rank's thread is at work, for messages.
/// Throws as check_answer. Collective over `control`, main thread.
void wait_for_files(const char* what, const std::string& path, Communicator& control,
                    const std::function<bool()>& is_done);

}  // namespace octet::checkpoint

#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "src/base/read_file.h"
#include "src/comm/communicator.h"

namespace octet::files {

// A file system that fails on one machine, or on all, is no damage of what it holds: nothing is given up or renamed for
// it. The ranks end the run together, with an error that names the hosts, so that a job goes on without them.

/// What the ranks make of the ReadErrors that some of them pass. Every rank looks at the path that the lowest of them
/// could not read, for 2 s at most; a host fails when one of its ranks does, or had before. Then all throw the same
/// error: "leave out hosts A, B: ..." (src/base/hosts.h) with code 76 (unhealthy); where more than half of the
/// hosts fail it is the file system, with code 70 (internal), or 64 (usage) when it refuses the right to read. Returns
/// "PATH: ..." where the file is not there for any rank, though its folder is; nothing when no rank passed an error.
/// With `others_look` false nobody looks. Collective over the hosts, main thread. A process whose look does not come
/// back ends here.
std::optional<std::string> agree_on_reading(const std::optional<ReadError>& mine, Communicator& world,
                                            bool others_look = true);

/// How long ranks that wait for a read do nothing before they look again: a twentieth of what they have waited, within
/// 1 and 250 ms. So a short read, of which a load has hundreds, ends soon after it is done, and a long one leaves the
/// cores to who has work, of whom there may be more than cores.
std::chrono::nanoseconds pause_after(std::chrono::nanoseconds waited);

/// Runs `work` in a thread of its own on every rank; it calls nothing collective, and retries itself. Meanwhile the
/// main threads ask each other whether one has failed, so that within a second the others hear of it, which then stop
/// reading too. A ReadError ends as in agree_on_reading, whose result this returns; anything else that `work` throws
/// comes out on that rank, when all have ended. `what` is a literal, for the watchdog: where the bytes of `progress`
/// stand still for as long as the phase allows, this process tells it and ends with 71, as it does with the error of
/// the others where its thread does not come back within 2 s.
std::optional<std::string> read_together(const char* what, Communicator& world, ReadProgress& progress,
                                         const std::function<void()>& work);

}  // namespace octet::files

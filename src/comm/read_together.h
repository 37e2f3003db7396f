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

/// How the ranks agree on the ReadErrors that some of them pass. Every rank tries to read the path that the lowest such
/// rank could not read, for 2 s at most; a host fails when one of its ranks fails, now or before. Then all throw the
/// same error: "leave out hosts A, B: ..." (src/base/hosts.h) with code 76 (unhealthy); where more than half of the
/// hosts fail, it is the file system, with code 70 (internal), or 64 (usage) when access is denied. Returns "PATH: ..."
/// where no rank finds the file although its folder exists; nothing when no rank passed an error. With `others_look`
/// false nobody tries to read. Collective over `control`, main thread. A process whose attempt does not return ends
/// here.
std::optional<std::string> agree_on_reading(const std::optional<ReadError>& mine, Communicator& control,
                                            bool others_look = true);

/// How long ranks that wait for a read do nothing before they look again: a twentieth of the time that they have
/// waited, but at least 1 ms and at most 250 ms. So a short read, of which a load has hundreds, is noticed soon after
/// it is done, and during a long one the cores are free for work, of which there may be more than cores.
std::chrono::nanoseconds pause_after(std::chrono::nanoseconds waited);

/// Runs `work` on every rank, in a thread of its own; it calls nothing collective, and retries by itself. Meanwhile the
/// main threads ask each other whether one has failed, so that the others hear of it within a second and stop reading
/// too. A ReadError is treated as in agree_on_reading, whose result this returns; anything else that `work` throws is
/// rethrown on that rank when all have ended. `what` is a literal, for the watchdog: where `progress` counts no more
/// bytes for as long as the phase allows, this process says so and ends with 71. Where its thread does not return
/// within 2 s after the ranks have agreed on an error, it ends with that error.
std::optional<std::string> read_together(const char* what, Communicator& control, ReadProgress& progress,
                                         const std::function<void()>& work);

}  // namespace octet::files

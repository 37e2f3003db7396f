#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

// What the ranks tell each other about a checkpoint. Collective, from the main thread; `world` is of the hosts
// (src/comm/host_exchange.h).

/// A failure of this rank that the others are to hear of.
struct Failure {
  ExitCode code = ExitCode::internal;
  std::string text;
};
/// Runs `work`, which must call nothing collective; what it threw, if it did.
std::optional<Failure> failure_of(const std::function<void()>& work);

/// If any rank passes a failure, every rank throws the same error: "WHAT: rank R on HOST: TEXT" of the lowest such rank
/// (and how many more). The ranks agree first, by one small all-reduce.
void agree(const std::string& what, const std::optional<Failure>& mine, Communicator& world);

/// agree(what, failure_of(work)).
void together(const std::string& what, Communicator& world, const std::function<void()>& work);

// All hosts of a run see the same files. Where a mount is missing on one of them, it is that host's matter and no
// mistake in what the run was asked to do. Collective over the hosts, main thread; throws as read_together.

/// Says whether something has that name. What cannot be looked at (ReadError) must not pass for what is not there.
bool is_there(const std::string& path);

/// Runs `look` on every rank, again where it throws a ReadError.
void look_together(Communicator& hosts, const std::function<void()>& look);

/// Runs `look` on rank 0 alone, again where it throws a ReadError, which ends on all as in agree_on_reading. Anything
/// else that it throws comes out on rank 0 while the others wait.
void look_by_first(Communicator& hosts, const std::function<void()>& look);

/// What is there for one host has to be there for all, and readable. A path that none has is nobody's error here.
void expect_same_files(const std::vector<std::string>& paths, Communicator& hosts);

}  // namespace octet::checkpoint

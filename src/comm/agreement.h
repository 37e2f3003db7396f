#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/error.h"
#include "src/comm/communicator.h"

namespace octet {

// What the ranks tell each other when one of them fails. Collective over `control` (src/comm/control_exchange.h), main
// thread.

/// A failure of this rank that the others are to hear of.
struct Failure {
  ExitCode code = ExitCode::internal;
  std::string text;
};
/// Runs `work`, which must call nothing collective; what it threw, if it did.
std::optional<Failure> failure_of(const std::function<void()>& work);

/// If any rank passes a failure, every rank throws the same error: "[ROOM] WHAT: rank R on HOST: TEXT" of the lowest
/// such rank (and how many more). The ranks agree first, by one small all-reduce.
void agree(std::string_view room, const std::string& what, const std::optional<Failure>& mine, Communicator& control);

/// agree(room, what, failure_of(work)).
void together(std::string_view room, const std::string& what, Communicator& control, const std::function<void()>& work);

/// For work that tells whether a host is fit for the run, and calls nothing collective. A host fails when one of its
/// ranks does. Where at most half of them do, all ranks throw the same error with code 76 (unhealthy): "[ROOM] leave
/// out hosts A,B: N of M host(s) WHAT: rank R on HOST: TEXT" (src/base/hosts.h), R the lowest rank that failed. Where
/// more do, they are not at fault: all throw "[ROOM] rank R on HOST: TEXT", with the code of what that rank threw.
void together_by_host(std::string_view room, const std::string& what, Communicator& control,
                      const std::function<void()>& work);

}  // namespace octet

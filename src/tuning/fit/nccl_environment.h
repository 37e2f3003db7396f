#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/tuning/collective.h"

namespace octet {

/// NCCL_ALGO and NCCL_PROTO of a run; empty: not set.
struct ForcedByEnvironment {
  std::string algorithm, protocol;
};

/// The only algorithm or protocol that a value of NCCL_ALGO or NCCL_PROTO leaves to a collective: `Ring`,
/// `ring;allreduce:tree`. None where it leaves several (`ring,tree`, `^tree`) or says nothing of the collective.
/// Usage errors for words that NCCL does not know. Syntax: NCCL's user guide, env.rst, NCCL_ALGO (2.24 and later).
std::optional<Algorithm> forced_algorithm(std::string_view value, Collective collective);
std::optional<Protocol> forced_protocol(std::string_view value, Collective collective);

/// Takes up what a line of a log or an entry of an environment says of the two: `NCCL_ALGO=Ring` wherever it stands in
/// the line, `unset NCCL_ALGO`, and NCCL's own "NCCL_ALGO set by environment to Ring". True where it said something.
bool note_environment(std::string_view line, ForcedByEnvironment& environment);

}  // namespace octet

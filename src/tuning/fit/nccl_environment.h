#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/tuning/collective.h"

namespace octet {

/// NCCL_ALGO, NCCL_PROTO, NCCL_TUNER_PLUGIN and OCTET_TUNING_FILE of a run; empty: not set.
struct ForcedByEnvironment {
  std::string algorithm, protocol;
  std::string tuner_plugin, tuning_file;
  std::string loaded_tuner;  ///< as NCCL's log names it: the network's plugin may bring one that no variable names
};

/// The only algorithm or protocol that a value of NCCL_ALGO or NCCL_PROTO leaves to a collective: `Ring`,
/// `ring;allreduce:tree`. None where it leaves several (`ring,tree`, `^tree`) or says nothing of the collective.
/// Usage errors for words that NCCL does not know. Syntax: NCCL's user guide, env.rst, NCCL_ALGO (2.24 and later).
std::optional<Algorithm> forced_algorithm(std::string_view value, Collective collective);
std::optional<Protocol> forced_protocol(std::string_view value, Collective collective);

/// The tuner by which this run chose: "NCCL_TUNER_PLUGIN=octet"; empty: none was loaded, as far as the run says. `none`
/// loads none, whatever other variables say (NVIDIA/nccl v2.28.9-1, src/plugin/tuner.cc).
std::string tuner_of(const ForcedByEnvironment& environment);

/// Takes up what a line of a log or an entry of an environment says of them: `NCCL_ALGO=Ring` wherever it stands in
/// the line, `unset NCCL_ALGO`, NCCL's own "NCCL_ALGO set by environment to Ring" and "Successfully loaded external
/// tuner plugin FILE". True where it said something.
bool note_environment(std::string_view line, ForcedByEnvironment& environment);

}  // namespace octet

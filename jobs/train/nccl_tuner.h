#pragma once

#include <cstdint>
#include <string>

#include "src/comm/communicator.h"
#include "src/comm/nccl_settings.h"

namespace octet {

// The library that tunes NCCL and its file. NCCL reads both from the environment when it makes its first communicator;
// ranks that tune differently take different algorithms for the same collective and hang.

/// What this process would tune NCCL by.
struct TunerState {
  std::uint64_t hash = 0;  ///< of the bytes of file and plugin, not of where they lie
  std::string text;        ///< for readers: paths and hashes
  std::string wrong;       ///< why it cannot be used; empty: it can
};

/// Sets OCTET_TUNING_FILE and NCCL_TUNER_PLUGIN as nccl.tuning_file wants them; without that setting the environment
/// stays. The plugin is the environment's, else libnccl-tuner-octet.so in `library_folder`. Throws a usage error where
/// the environment names another file or another plugin.
void set_tuner_environment(const NcclSettings& settings, const std::string& library_folder);

/// Reads what the environment names.
TunerState tuner_state();

/// Collective over `hosts`. Throws the same usage error on every rank when states differ, naming nodes and ranks; or,
/// when all have the same, if it is wrong.
void require_same_tuner(Communicator& hosts, const std::string& node, const TunerState& state);

/// All three, with the folder lib beside the program's: before the first communicator of NCCL.
void set_up_nccl_tuner(const NcclSettings& settings, Communicator& hosts, const std::string& node);

}  // namespace octet

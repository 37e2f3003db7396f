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
  std::uint64_t hash = 0;       ///< of the bytes of file and plugin, not of where they lie
  std::uint64_t file_hash = 0;  ///< content_hash() of the tuning file; 0: none
  std::string text;             ///< for readers: paths and hashes
  std::string wrong;            ///< why it cannot be used; empty: it can
};

/// Throws a usage error where an environment in which OCTET_TUNING_FILE is `file` and NCCL_TUNER_PLUGIN `plugin`
/// (empty: not set) names another file than nccl.tuning_file, or a plugin that does not read it; a plugin may be named
/// in every way that NCCL reads (src/tuning/tuner_library.h).
void check_tuner_environment(const NcclSettings& settings, const std::string& file, const std::string& plugin);

/// Sets OCTET_TUNING_FILE and NCCL_TUNER_PLUGIN as nccl.tuning_file wants them; without that setting the environment
/// stays. The plugin is the environment's, else libnccl-tuner-octet.so in `library_folder`. Throws as
/// check_tuner_environment() does.
void set_tuner_environment(const NcclSettings& settings, const std::string& library_folder);

/// Reads what the environment names: the file, and the library that is found by NCCL's own rule.
TunerState tuner_state();

/// Collective over `control`. Throws the same usage error on every rank when states differ, naming nodes and ranks, or
/// when all have the same state and it is wrong.
void require_same_tuner(Communicator& control, const std::string& node, const TunerState& state);

/// Collective over `control`. Throws the same usage error on every rank where NCCL's versions differ, naming them with
/// their nodes and ranks: another release chooses differently by itself, and may apply a tuning file or not.
void require_same_nccl(Communicator& control, const std::string& node, const std::string& version);

/// Sets OCTET_TUNING_HASH to the file's: the plugin keeps NCCL's choices where it reads another file. Unsets it without
/// a file.
void export_tuning_hash(const TunerState& state);

/// All of these, with the folder lib beside the program's: before the first communicator of NCCL. The versions are
/// compared where there is more than one rank.
void set_up_nccl_tuner(const NcclSettings& settings, Communicator& control, const std::string& node);

}  // namespace octet

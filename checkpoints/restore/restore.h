#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoints/format/manifest.h"
#include "checkpoints/restore/verification.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

struct Found {
  std::string directory;
  Manifest manifest;
  Verdicts verdicts = {};                 ///< rank 0: of all that were tried
  std::vector<std::string> damaged = {};  ///< newer ones, that were tried before
  double choose_seconds = 0;              ///< for the list and manifests, of damaged ones too
  double hash_seconds = 0;                ///< for the files of all that were tried
};

/// Paths of the committed checkpoints under `root`, newest first (by step), manifests not read yet. Leftovers of
/// unfinished writes are not among them. None where there is no `root`; throws ReadError when it cannot be read.
std::vector<std::string> list_checkpoints(const std::string& root);

/// The newest valid checkpoint, agreed by all ranks: rank 0 reads the manifest, the ranks together hash every file,
/// each byte once, before HDF5 opens anything. A damaged one, of which a file is not there or has another size or hash,
/// is reported loudly (which file, what differs) and the next older one is tried. One that some host cannot read is no
/// damage: it ends as in read_together. Neither is one of a newer program, which all refuse (UnknownFormat). Nothing
/// when there is none at all; a usage error when there are some and none is valid. Collective over `control`
/// (src/comm/control_exchange.h).
std::optional<Found> find_newest_valid(const std::string& root, Communicator& control);

/// What `path` means: that checkpoint, by its manifest or its name, or the newest valid one of a run's folder, or of a
/// folder of checkpoints: which of these it is, rank 0 says. Nothing where there is none; a usage error for one that is
/// damaged. Collective.
std::optional<Found> find_checkpoint(const std::string& path, Communicator& control);

/// Checks one directory in the same way. Returns what is wrong with it, or nothing. Collective.
std::optional<std::string> verify(const std::string& directory, Manifest& manifest, Communicator& control);

}  // namespace octet::checkpoint

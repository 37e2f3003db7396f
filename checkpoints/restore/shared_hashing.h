#pragma once

#include <string>
#include <vector>

#include "checkpoints/format/manifest.h"
#include "src/base/read_file.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

/// What ranks find that have read the files of a checkpoint.
struct Findings {
  std::string wrong;     ///< path, found and expected of each file that is not as promised; empty when all are
  bool complete = true;  ///< all could be read to the end: what is wrong is damage
};

/// Compares size and hash of this rank's share of the files. The ranks together read each file once: the largest first,
/// each by the rank with the least so far. Nothing collective, no HDF5: any thread. Throws ReadError, after retries,
/// and ReadStopped when it is stopped.
Findings hash_share(const std::string& directory, const std::vector<StoredFile>& files, int rank, int ranks,
                    files::ReadProgress& progress);
/// The same for checkpoints whose reading is not worth a run: what could not be read is in the findings.
Findings try_hash_share(const std::string& directory, const std::vector<StoredFile>& files, int rank, int ranks,
                        files::ReadProgress& progress);

/// All ranks' findings as one. Collective, main thread.
Findings together(const Findings& mine, Communicator& world);

}  // namespace octet::checkpoint

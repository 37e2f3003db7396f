#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoints/format/manifest.h"
#include "checkpoints/restore/read_pace.h"
#include "src/base/read_file.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

/// What ranks find that have read the files of a checkpoint: a few files that are wrong say as much as hundreds.
struct Findings {
  std::vector<std::string> wrong;  ///< path, found and expected of the first files that are not as promised
  std::int64_t more = 0;           ///< files that are not so either
  bool complete = true;            ///< all could be read to the end: what is wrong is damage

  void add(std::string what);
  bool all_well() const { return wrong.empty(); }
  /// "A: found 1 bytes, expected 2; B: ...; and 409 more files"
  std::string text() const;
};

/// Which of the files, in the manifest's order, which is that of their writers, a rank of so many hashes. Where there
/// are no more files than ranks, file i of F falls to rank floor(i · ranks / F): of as many ranks as have written to
/// the one that wrote it, and will read it next, then out of the memory of its host; of fewer writers a node to one of
/// their node. Of more files the largest first, each to the rank with the least so far.
std::vector<std::size_t> share_of(int rank, int ranks, const std::vector<StoredFile>& files);

/// Compares size and hash of this rank's share of the files, that many at a time, each in a thread of its own. The
/// ranks together read each file once. Nothing collective, no HDF5: any thread. Throws ReadError, after retries, and
/// ReadStopped when it is stopped; the other files are not read to their end then. `pace`, which is for one thread,
/// says how fast; null: as fast as can be.
Findings hash_share(const std::string& directory, const std::vector<StoredFile>& files, int rank, int ranks,
                    int threads, files::ReadProgress& progress, ReadPace* pace = nullptr);
/// The same, file by file beside a run and at its pace, for checkpoints whose reading is not worth a run: what could
/// not be read is in the findings.
Findings try_hash_share(const std::string& directory, const std::vector<StoredFile>& files, int rank, int ranks,
                        files::ReadProgress& progress, ReadPace& pace);

/// All ranks' findings as one. Collective, main thread.
Findings of_all_ranks(const Findings& mine, Communicator& control);

}  // namespace octet::checkpoint

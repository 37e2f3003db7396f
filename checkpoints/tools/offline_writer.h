#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoints/restore/file_parts.h"

namespace octet::checkpoint {

/// Called on the caller's thread with the number of bytes done since the last call.
using ByteProgress = std::function<void(std::int64_t)>;

/// Who writes what when one process writes a checkpoint for `writers`: each tensor is split along dimension 0 as FSDP
/// splits it over that many ranks, so that they find what they need in one file each. In the order of files.
std::vector<std::vector<Part>> plan_writers(const std::vector<StoredTensor>& tensors, int writers,
                                            std::int64_t most = most_part_bytes);

/// For how many writers a checkpoint of `bytes` of tensors is written where nobody says: the smallest power of two that
/// leaves each of their files 16 GiB at most, up to as many files as a reader keeps open (OpenShards). A power of two,
/// so that most layouts find what a rank needs in few files.
int writers_by_size(std::int64_t bytes);

/// Gives the elements of a part, row-major, valid until the next call; called for each part once, in the plan's order.
using PartSource = std::function<const void*(const Part&)>;

/// Writes a checkpoint from one process and commits it as training does: everything under DIRECTORY.tmp, hashed and
/// synced, then one rename. Nothing is left of one that fails. One thread of the process calls it (HDF5). Usage error
/// when the directory exists, is named after another step or so that no run would find it, or its path is wrong;
/// internal_error with path and reason when there is no room or the disk refuses. `plain` files lie there beside those
/// of tensors.
Manifest write_checkpoint(const std::string& directory, const RunState& state, const std::vector<StoredTensor>& tensors,
                          const std::vector<std::vector<Part>>& plan, const PartSource& source,
                          const ByteProgress& progress = nullptr, const std::vector<PlainFile>& plain = {});

/// Copies a verified checkpoint to a new directory with the files of `writers` writers, plain files as they are.
Manifest reshard(const std::string& from, const Manifest& manifest, const std::string& to, int writers,
                 const ByteProgress& progress = nullptr);

}  // namespace octet::checkpoint

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoints/manifest.h"
#include "checkpoints/owner.h"
#include "checkpoints/save_plan.h"

namespace octet::checkpoint {

/// A rank's file as bytes that ranks exchange, and back; no name where a rank had nothing to write.
std::string pack(const StoredFile& file);
StoredFile unpack_file(const std::string& bytes);

/// Internal error, as of every disk that is full, when the file system of `root` has no room for a checkpoint of so
/// many bytes beside a reserve for the files' own structure and the run's logs.
void check_free_space(const std::string& root, std::int64_t bytes);

/// An empty folder temporary_name(step, owner.name); what an unfinished write left under that name goes. Returns its
/// path. Rank 0 only.
std::string make_temporary(const std::string& root, std::int64_t step, const Owner& owner);

/// The manifest of what all ranks wrote, as planned. `files` by rank.
Manifest make_manifest(const RunState& state, const SavePlan& plan, const std::vector<StoredFile>& files);

/// Completes the owner's temporary folder of a step, whose files are written and synced: manifest, sync of the
/// directory, a look at what stands there (manifest read back, sizes of files). Returns its path. Rank 0 only; any
/// thread.
std::string write_manifest(const std::string& root, const Manifest& manifest, const Owner& owner);

/// Makes that completed folder the checkpoint step-N: one rename, sync of the root. A directory step-N that exists, one
/// that was damaged, is replaced. Rank 0 only.
void commit(const std::string& root, std::int64_t step, const Owner& owner);

}  // namespace octet::checkpoint

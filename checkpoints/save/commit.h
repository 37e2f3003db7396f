#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "checkpoints/format/format.h"
#include "checkpoints/format/manifest.h"
#include "checkpoints/format/owner.h"
#include "checkpoints/restore/verification.h"
#include "checkpoints/save/save_plan.h"

namespace octet::checkpoint {

/// An empty folder temporary_name(step, owner.name); what an unfinished write left under that name goes. Returns its
/// path. Rank 0 only.
std::string make_temporary(const std::string& root, std::int64_t step, const Owner& owner);
/// Removes that folder while an error is on its way: where it cannot be removed it stays, and a warning says so. Rank 0
/// only.
void drop_temporary(const std::string& temporary) noexcept;

/// The manifest of what all ranks wrote, as planned. `files` by rank.
Manifest make_manifest(const RunState& state, const SavePlan& plan, const std::vector<StoredFile>& files);

/// Completes the owner's temporary folder of a step, whose files are written and synced: manifest, sync of the
/// directory, a look at what stands there (manifest read back, sizes of files). Returns its path. Rank 0 only; any
/// thread.
std::string write_manifest(const std::string& root, const Manifest& manifest, const Owner& owner);

/// Makes that completed folder the checkpoint step-N: one rename, sync of the root. A directory step-N that exists, one
/// that was damaged, is replaced. Rank 0 only.
void commit(const std::string& root, std::int64_t step, const Owner& owner);

/// What a checkpoint's manifest was made of.
struct WrittenManifest {
  Verdicts::Files files;  ///< whole: they were read back when they were hashed
  double seconds = 0;
};

/// Makes, writes and reads back the manifest of files that all ranks have written, on a thread of its own: with the
/// million pieces of a large run that takes seconds, for which training does not stand still. Rank 0; the calls are the
/// main thread's and do nothing for each piece. What was begun is waited for when this goes.
class BackgroundManifest {
 public:
  /// Starts write_manifest(root, make_manifest(state, *plan, files), owner); `files` are by rank.
  void start(const std::string& root, const RunState& state, const std::shared_ptr<const SavePlan>& plan,
             std::vector<StoredFile> files, const Owner& owner);
  /// True also where none was begun.
  bool is_done() const;
  /// Returns the result. To be called once after each start, when that is done. Throws what went wrong.
  WrittenManifest get() { return running_.get(); }

 private:
  std::future<WrittenManifest> running_;
};

}  // namespace octet::checkpoint

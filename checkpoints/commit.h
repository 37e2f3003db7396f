#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "checkpoints/format.h"
#include "checkpoints/manifest.h"
#include "checkpoints/owner.h"
#include "checkpoints/save_plan.h"
#include "checkpoints/verification.h"

namespace octet::checkpoint {

/// A rank's file as bytes that ranks exchange, and back; no name where a rank had nothing to write.
std::string pack(const StoredFile& file);
StoredFile unpack_file(const std::string& bytes);

/// Bytes that a save leaves free, for the run's logs and metrics. The last one of a run may take them too.
constexpr std::int64_t space_reserve = 64 << 20;

/// Internal error, as of every disk that is full, when the file system of `root` has no room for a checkpoint of so
/// many bytes, with a hundredth for the files' own structure, beside `reserve`.
void check_free_space(const std::string& root, std::int64_t bytes, std::int64_t reserve = space_reserve);

/// What a start has to say where `free` bytes under `root` will not do for the checkpoints of `bytes` each that are to
/// come: `keep` that stay, one more while it is written, less the `there` that will go for them. Empty where they will
/// do; those that checkpoint.keep_every adds with time are not foreseen.
std::string lack_of_space(const std::string& root, std::int64_t free, std::int64_t bytes, std::int64_t keep,
                          std::int64_t there, std::int64_t reserve = space_reserve);

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
  void start(std::string root, RunState state, std::shared_ptr<const SavePlan> plan, std::vector<StoredFile> files,
             Owner owner);
  /// True also where none was begun.
  bool is_done() const;
  /// Returns the result. To be called once after each start, when that is done. Throws what went wrong.
  WrittenManifest get() { return running_.get(); }

 private:
  std::future<WrittenManifest> running_;
};

}  // namespace octet::checkpoint

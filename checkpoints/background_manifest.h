#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "checkpoints/format.h"
#include "checkpoints/manifest.h"
#include "checkpoints/owner.h"
#include "checkpoints/save_plan.h"
#include "checkpoints/verdicts.h"

namespace octet::checkpoint {

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
  /// As write_manifest(root, make_manifest(state, *plan, files), owner); `files` by rank.
  void start(std::string root, RunState state, std::shared_ptr<const SavePlan> plan, std::vector<StoredFile> files,
             Owner owner);
  /// Also where none was begun.
  bool is_done() const;
  /// Once a start, when it is done. Throws what went wrong.
  WrittenManifest get() { return running_.get(); }

 private:
  std::future<WrittenManifest> running_;
};

}  // namespace octet::checkpoint

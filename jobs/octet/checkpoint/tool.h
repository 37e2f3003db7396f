#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoints/restore/file_parts.h"
#include "checkpoints/restore/verification.h"
#include "src/base/options/schema.h"
#include "src/run_config/run_config.h"

namespace octet::tool {

// What the subcommands of `octet checkpoint` share. Each gets the arguments behind its name and returns the exit code.

int run_list(const std::vector<std::string>& arguments);
int run_show(const std::vector<std::string>& arguments);
int run_verify(const std::vector<std::string>& arguments);
int run_diff(const std::vector<std::string>& arguments);
int run_reshard(const std::vector<std::string>& arguments);
int run_prune(const std::vector<std::string>& arguments);
int run_export(const std::vector<std::string>& arguments);
int run_import(const std::vector<std::string>& arguments);
int run_view(const std::vector<std::string>& arguments);

/// The folder that holds a run's checkpoints; `run` may be that folder too. Usage error when there is none,
/// internal error when that cannot be told.
std::string checkpoints_folder(const std::string& run);

/// The checkpoint that a path means: itself, or the newest one of a run. Usage error when it is neither.
std::string checkpoint_at(const std::string& path);

using OpenCheckpoint = checkpoint::WholeCheckpoint;

/// Whether the path is that of a checkpoint, by its manifest or its name; else it may be that of a run.
bool is_checkpoint(const std::string& path);

/// The paths of a run's checkpoints, the newest first. Usage error where there is none.
std::vector<std::string> checkpoints_of(const std::string& run);

/// A checkpoint every byte of which was compared with its manifest, with a progress bar; of a run the newest that is
/// whole. Usage error for a checkpoint that is damaged, after a line for each of its files that is; internal error for
/// one that cannot be read, of a run too. Of tensors that are not `used` only the bytes of their files are compared
/// (checkpoint::find_damage).
OpenCheckpoint open_verified(const std::string& path, int threads, const checkpoint::TensorChoice& used = nullptr);

/// The newest `count` whole checkpoints of a run, the newest first; damaged ones are passed over with a warning. Usage
/// error that names those that there are where they are fewer, or two that are of different models. Internal error for
/// one that cannot be read, which may be whole. `used` as in open_verified.
std::vector<OpenCheckpoint> newest_whole(const std::string& run, int count, int threads,
                                         const checkpoint::TensorChoice& used = nullptr);

/// Runs `work`, which opens what `path` means and reads it. A run that goes on removes old checkpoints, that one too:
/// where work fails and a checkpoint of the run is gone since it began, it is done again with what is the newest then,
/// a few times. Usage error that says that the run has removed it after these, and for a checkpoint that is named
/// itself.
void while_run_prunes(const std::string& path, const std::function<void()>& work);

/// The checks of open_verified for a checkpoint whose manifest is known: a line to the log for each damaged file; the
/// exit code to end with, 0 when it is whole.
int report_damage(const OpenCheckpoint& checkpoint, int threads, const checkpoint::TensorChoice& used = nullptr);

/// Declares --threads, for hashing_threads.
void add_threads(Schema& schema, int& threads);
/// Threads to hash with: `asked`, or for 0 as many as there are cores.
int hashing_threads(int asked);

/// The configuration that a checkpoint holds, with its model's shape. `has_seq_len` (may be null): whether it is that
/// of a run, which knows the length of its sequences. Usage error that names the checkpoint.
RunConfig config_of(const OpenCheckpoint& checkpoint, bool* has_seq_len = nullptr);

/// Files that the tensors of a checkpoint are split over, at most.
constexpr int most_writers = 65536;

/// The loss with that many digits; "-" where it is no number, or of a checkpoint of no step, which has none.
std::string loss_text(const checkpoint::RunState& state, int digits);

/// All bytes of files, or of those of a checkpoint.
std::int64_t bytes_of(const std::vector<checkpoint::StoredFile>& files);
std::int64_t bytes_of(const checkpoint::Manifest& manifest);

/// The time at which the checkpoint was committed, as "2026-05-01 12:00:00" UTC; "?" where the file system does not
/// say.
std::string time_of(const std::string& directory);

}  // namespace octet::tool

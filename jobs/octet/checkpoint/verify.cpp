#include <algorithm>
#include <filesystem>

#include "checkpoints/format/view.h"
#include "checkpoints/restore/restore.h"
#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"
#include "src/base/log.h"
#include "src/base/progress.h"

namespace octet::tool {
namespace {

constexpr std::string_view verify_usage =
    "usage: octet checkpoint verify CHECKPOINT... [OPTIONS]\n\n"
    "Reads every byte of every file and compares size and hash with the manifest, which holds a hash of itself; then\n"
    "compares every piece in the HDF5 files with the hash that it carries, and what a file says of itself with the\n"
    "manifest. A view.h5 is no part of the checkpoint, but has to fit it.\n"
    "One line for each file or dataset that is not as it should be.\n"
    "Exit code: 0 all whole, 64 something is damaged, 70 something could not be read.\n";

/// Exit code after a line for a view that was damaged, or made for other files. Its absence is no fault.
int check_view(const std::string& directory) {
  const std::string path = directory + "/" + checkpoint::view_name;
  if (!std::filesystem::exists(path) || checkpoint::view_is_current(directory)) return 0;
  log::error(
      "[octet] {}: damaged, or not of this checkpoint; no restart reads it; \"octet checkpoint view {}\" writes it "
      "anew",
      path, directory);
  return static_cast<int>(ExitCode::usage);
}

/// Exit code of one checkpoint, after its lines.
int verify_one(const std::string& path, int threads) {
  OpenCheckpoint checkpoint;
  try {
    checkpoint.directory = checkpoint_at(path);
    checkpoint.manifest = checkpoint::read_manifest(checkpoint.directory);
    const auto named = checkpoint::step_of(checkpoint.directory);
    if (named && *named != checkpoint.manifest.state.step) {
      throw usage_error("octet", "{}/{}: is of step {}", checkpoint.directory, checkpoint::manifest_name,
                        checkpoint.manifest.state.step);
    }
  } catch (const Error& error) {
    log::error("{}", error.what());
    return static_cast<int>(error.code());
  }
  const int code = report_damage(checkpoint, threads);
  if (code == 0) {
    log::out("{}: whole, {} in {} file(s)", checkpoint.directory, format_bytes(bytes_of(checkpoint.manifest)),
             checkpoint.manifest.files.size());
  }
  return std::max(code, check_view(checkpoint.directory));
}

}  // namespace

int run_verify(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  int threads = 0;
  Schema schema;
  schema.add("checkpoint", paths).required().several().help("Folder of a checkpoint, or of a run: its newest.");
  add_threads(schema, threads);
  if (!parse_words(arguments, verify_usage, schema, "checkpoint", -1)) return 0;
  threads = hashing_threads(threads);
  int code = 0;
  for (const std::string& path : paths) code = std::max(code, verify_one(path, threads));
  return code;
}

}  // namespace octet::tool

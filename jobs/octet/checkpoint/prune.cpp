#include <algorithm>
#include <cstdint>

#include "checkpoints/format/unknown_format.h"
#include "checkpoints/restore/restore.h"
#include "checkpoints/save/retention.h"
#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"
#include "src/base/log.h"

namespace octet::tool {
namespace {

constexpr std::string_view prune_usage =
    "usage: octet checkpoint prune RUN --keep K [OPTIONS]\n\n"
    "Removes old checkpoints of a run. The newest one that is whole is found by reading every byte; of it and what is\n"
    "older, the newest K that are whole stay, and multiples of --keep-every. Nothing is removed when none is whole.\n"
    "Exit code: 0 done, 64 none is whole, 70 none is known to be whole, and one could not be read.\n";

/// What reading it brought.
enum class Found : std::uint8_t { whole, damaged, unread };

/// After a line for what is wrong with it.
Found look_at(const std::string& directory, int threads) {
  const auto of = [](int code) {
    return code == static_cast<int>(ExitCode::internal) ? Found::unread : Found::damaged;
  };
  try {
    const int code = report_damage({directory, checkpoint::read_manifest(directory)}, threads);
    return code == 0 ? Found::whole : of(code);
  } catch (const checkpoint::UnknownFormat&) {
    throw;  // it is no damage, and may be the newest
  } catch (const Error& error) {
    log::error("{}", error.what());
    return of(static_cast<int>(error.code()));
  }
}

/// The newest step whose checkpoint is whole. Where there is none, an internal error if one could not be read, which
/// says nothing of what is stored there, else a usage error.
std::int64_t newest_whole(const std::vector<std::string>& directories, const std::string& folder, int threads) {
  std::size_t unread = 0;
  for (const std::string& directory : directories) {
    const Found found = look_at(directory, threads);
    if (found == Found::whole) return checkpoint::step_of(directory).value();
    if (found == Found::unread) ++unread;
  }
  if (unread > 0) {
    throw internal_error("octet",
                         "{}: none of its {} checkpoints is known to be whole, and {} could not be read; "
                         "nothing was removed",
                         folder, directories.size(), unread);
  }
  throw usage_error("octet", "{}: none of its {} checkpoints is whole; nothing was removed", folder,
                    directories.size());
}

}  // namespace

int run_prune(const std::vector<std::string>& arguments) {
  std::string run;
  int keep = 0, threads = 0;
  std::int64_t keep_every = 0;
  bool dry_run = false;
  Schema schema;
  schema.add("run", run).required().help("Folder of a run, or its folder checkpoints.");
  schema.add("keep", keep).required().at_least(1).help("How many of the newest stay.");
  schema.add("keep-every", keep_every).at_least(0).help("Multiples of this step stay too; 0: none.");
  schema.add_flag("dry-run", dry_run).help("Say what would go, and remove nothing.");
  add_threads(schema, threads);
  if (!parse_words(arguments, prune_usage, schema, "run", 1)) return 0;

  const std::string folder = checkpoints_folder(run);
  const auto directories = checkpoint::list_checkpoints(folder);
  if (directories.empty()) throw usage_error("octet", "{}: holds no checkpoint", folder);
  std::vector<std::int64_t> steps;
  steps.reserve(directories.size());
  for (const std::string& directory : directories) steps.push_back(checkpoint::step_of(directory).value());
  std::ranges::sort(steps);
  threads = hashing_threads(threads);
  const std::int64_t verified = newest_whole(directories, folder, threads);
  const auto gone = checkpoint::steps_to_prune(steps, verified, keep, keep_every, [&](std::int64_t step) {
    return look_at(folder + "/" + checkpoint::directory_name(step), threads) == Found::whole;
  });
  for (const std::int64_t step : gone) {
    if (!dry_run) checkpoint::remove_checkpoint(folder, step);
    log::out("{} {}/{}", dry_run ? "would remove" : "removed", folder, checkpoint::directory_name(step));
  }
  log::out("{} of {} checkpoints {}", steps.size() - gone.size(), steps.size(), dry_run ? "would stay" : "stay");
  return 0;
}

}  // namespace octet::tool

#include <algorithm>
#include <filesystem>
#include <set>

#include "checkpoints/format/unknown_format.h"
#include "checkpoints/restore/restore.h"
#include "checkpoints/restore/verification.h"
#include "jobs/octet/checkpoint/tool.h"
#include "jobs/octet/commands.h"
#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/base/read_file.h"

namespace octet::tool {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view list_usage =
    "usage: octet checkpoint list RUN\n\n"
    "Lists the checkpoints of a run, newest first: step, time of the commit (UTC), size, loss and state. It reads the\n"
    "manifests, but looks at no piece, and the sizes of files; \"octet checkpoint verify\" reads every byte.\n"
    "States: committed; of a version, or with a key, that this program does not know, as a newer Octet writes it;\n"
    "damaged, with what is wrong; cannot be read, which may be whole; unfinished, left by a write that never ended (a\n"
    "run that starts removes it).\n";

void print_row(const std::string& step, const std::string& time, const std::string& size, const std::string& loss,
               const std::string& state) {
  log::out("{:>9}  {:<19}  {:>10}  {:>8}  {}", step, time, size, loss, state);
}

/// A file that cannot be looked at is no damage, and its own text says so.
std::string state_of(const std::vector<checkpoint::Damage>& wrong) {
  const auto damaged = std::ranges::find(wrong, ExitCode::usage, &checkpoint::Damage::code);
  const checkpoint::Damage& first = damaged == wrong.end() ? wrong.front() : *damaged;
  return fmt::format("{}{} {}", damaged == wrong.end() ? "" : "damaged: ", first.file, first.what);
}

void print_checkpoint(const std::string& directory) {
  const std::string step = fmt::format("{}", checkpoint::step_of(directory).value_or(-1));
  checkpoint::ManifestSummary summary;
  try {
    summary = checkpoint::read_summary(directory);
  } catch (const checkpoint::UnknownFormat& format) {
    print_row(step, time_of(directory), "?", "?", format.reason());
    return;
  } catch (const files::ReadError& error) {
    const bool absent = error.code() == ExitCode::usage;
    print_row(step, time_of(directory), "?", "?",
              fmt::format("{}{} {}", absent ? "damaged: " : "", checkpoint::manifest_name,
                          absent ? "is missing" : "cannot be read: " + error.reason()));
    return;
  } catch (const Error& error) {
    print_row(step, time_of(directory), "?", "?", fmt::format("damaged: {}", error.what()));
    return;
  }
  const auto damage = checkpoint::find_missing(directory, summary.files);
  const std::string state = damage.empty() ? "committed" : state_of(damage);
  print_row(step, time_of(directory), format_bytes(bytes_of(summary.files)), loss_text(summary.state, 4), state);
}

std::set<std::string> unfinished(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (checkpoint::is_leftover(name) && entry.is_directory()) names.insert(name);
  }
  return names;
}

}  // namespace

int run_list(const std::vector<std::string>& arguments) {
  std::string run;
  Schema schema;
  schema.add("run", run).required().help("Folder of a run, or its folder checkpoints.");
  if (!parse_words(arguments, list_usage, schema, "run", 1)) return 0;

  const std::string folder = checkpoints_folder(run);
  const auto directories = checkpoint::list_checkpoints(folder);
  const auto leftovers = unfinished(folder);
  if (directories.empty() && leftovers.empty()) {
    log::info("{}: holds no checkpoint", folder);
    return 0;
  }
  print_row("step", "time (UTC)", "size", "loss", "state");
  for (const std::string& name : leftovers) print_row("-", "-", "-", "-", "unfinished: " + name);
  for (const std::string& directory : directories) print_checkpoint(directory);
  return 0;
}

}  // namespace octet::tool

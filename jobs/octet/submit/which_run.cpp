#include "jobs/octet/submit/which_run.h"

#include <filesystem>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/options/text.h"

namespace octet::submit {
namespace {

/// Trains in the run directory that was given, also where it has been renamed or copied since its submitted.yaml was
/// written: the path in there leads nowhere now, or to another run.
void stay_in(const std::string& given, CommandLine& run) {
  std::string& named = run.config.run_dir;
  std::error_code error;
  if (std::filesystem::equivalent(named, given, error)) return;
  log::warning("{}: its submitted.yaml says run.dir = {}, so it was renamed or copied; the run goes on where it is now",
               given, in_quotes(named));
  named = given;
}

/// A submitted.yaml that is named itself decides where its run is, as every YAML file does; a user who has renamed or
/// copied the directory around it may want something else.
void say_where_it_leads(const std::string& file, const CommandLine& run) {
  const std::filesystem::path path(file);
  std::error_code error;
  if (path.filename() != "submitted.yaml") return;
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  if (std::filesystem::equivalent(run.config.run_dir, folder, error)) return;
  log::warning("{}: says run.dir = {}, where this run trains; to go on in {}, name that directory in place of the file",
               file, in_quotes(run.config.run_dir), in_quotes(folder));
}

}  // namespace

bool names_directory(const std::string& word) {
  std::error_code error;
  return std::filesystem::is_directory(word, error);
}

std::string run_file(const std::string& word) {
  if (!names_directory(word)) return word;
  std::string file = word + "/submitted.yaml";
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error)) return file;
  throw usage_error(
      "submit",
      "{}: is a folder without submitted.yaml, expected a run's YAML file or the directory of a run that was submitted",
      word);
}

void settle_directory(const std::string& word, CommandLine& run) {
  if (names_directory(word)) {
    stay_in(word, run);
  } else {
    say_where_it_leads(word, run);
  }
}

}  // namespace octet::submit

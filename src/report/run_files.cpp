#include "src/report/run_files.h"

#include <algorithm>
#include <filesystem>

#include "src/base/error.h"
#include "src/base/options/flat_yaml.h"
#include "src/owner/believed.h"
#include "src/report/metrics_file.h"
#include "src/report/text_file.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

RunStatus status_of(const std::string& path) {
  read_json(path);  // whose message says where it is damaged
  if (auto status = read_status(path)) return *std::move(status);
  throw usage_error("report", "{}: expected state, reason, exit_code, step and steps of a run", path);
}

/// Absolute, without links, "." and a slash at the end.
fs::path place_of(const std::string& path) {
  std::error_code error;
  fs::path place = fs::canonical(path, error);
  if (error || !fs::is_directory(place)) throw usage_error("report", "{}: is no run directory", path);
  return place;
}

/// The last `parts` parts of a path.
std::string end_of(const fs::path& path, int parts) {
  fs::path end = path.filename(), rest = path.parent_path();
  for (int i = 1; i < parts && rest.has_relative_path(); ++i, rest = rest.parent_path()) end = rest.filename() / end;
  return end.string();
}

std::string shortest_name(const std::vector<fs::path>& places, const fs::path& own) {
  for (int parts = 1;; ++parts) {
    std::string name = end_of(own, parts);
    if (std::ranges::count(places, name, [&](const fs::path& p) { return end_of(p, parts); }) == 1) return name;
  }
}

}  // namespace

std::string RunFiles::option(const std::string& key) const {
  const auto found = config.find(key);
  return found == config.end() ? "" : found->second;
}

RunFiles read_run(const std::string& path) {
  const auto file = [&](const char* name) { return (fs::path(path) / name).string(); };
  const auto there = [&](const char* name) { return fs::exists(file(name)); };
  RunFiles run{.path = path,
               .name = place_of(path).filename().string(),
               .status = believed(status_of(file("status.json")), ask_owner(path)),
               .config = flat_yaml(read_text_file(file("config.yaml")), file("config.yaml")),
               .metrics = read_metrics(file("metrics.jsonl")),
               .discarded = {},
               .profile = {}};
  if (there("metrics.discarded.jsonl")) run.discarded = read_discarded_metrics(file("metrics.discarded.jsonl"));
  if (there("profile.json")) run.profile = read_profile(file("profile.json"));
  return run;
}

std::vector<RunFiles> read_runs(const std::vector<std::string>& paths) {
  std::vector<fs::path> places;
  for (const std::string& path : paths) {
    const fs::path place = place_of(path);
    if (std::ranges::count(places, place) > 0) throw usage_error("report", "{}: is named twice", path);
    places.push_back(place);
  }
  std::vector<RunFiles> runs;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    runs.push_back(read_run(paths[i]));
    runs.back().name = shortest_name(places, places[i]);
  }
  return runs;
}

}  // namespace octet

#include "src/report/run_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/base/options/yaml.h"
#include "src/base/read_file.h"
#include "src/owner/evidence.h"

namespace octet {
namespace {

/// Calls `use(line, number)` for every line of the file that has its end.
template <typename Use>
void each_line(const std::string& path, const Use& use) {
  const FileHandle file = open_to_read(path.c_str());
  if (!file) throw not_read("report", path);
  std::string text;  // of lines that are not used yet
  std::int64_t number = 0;
  files::InputFile(path, file.get()).read_blocks([&](std::span<const char> block) {
    std::size_t begin = 0, from = text.size();
    text.append(block.data(), block.size());
    for (std::size_t end; (end = text.find('\n', from)) != std::string::npos; begin = from = end + 1) {
      use(std::string_view(text).substr(begin, end - begin), ++number);
    }
    text.erase(0, begin);
  });
}

std::vector<std::int64_t> ascending(const std::map<std::int64_t, std::int64_t>& first_steps) {
  std::multiset<std::int64_t> steps;
  for (const auto& [start, step] : first_steps) {
    if (start > 0) steps.insert(step);
  }
  return {steps.begin(), steps.end()};
}

/// The first step of each block of lines that one restart discarded.
std::vector<std::int64_t> starts_of_blocks(const std::vector<StepMetrics>& discarded, std::int64_t log_every) {
  std::multiset<std::int64_t> steps;
  for (std::size_t i = 0; i < discarded.size(); ++i) {
    const std::int64_t step = discarded[i].step, before = i == 0 ? step : discarded[i - 1].step;
    if (step <= before || step > before + log_every) steps.insert(step);
  }
  return {steps.begin(), steps.end()};
}

}  // namespace

std::vector<StepMetrics> read_metrics(const std::string& path) {
  std::vector<StepMetrics> steps;
  each_line(path, [&](std::string_view line, std::int64_t number) {
    StepMetrics metrics = step_metrics_of(line, fmt::format("{}:{}", path, number));
    if (!steps.empty() && metrics.step <= steps.back().step) {
      throw usage_error("report", "{}:{}: step {} after step {}, expected each step once and in order", path, number,
                        metrics.step, steps.back().step);
    }
    std::string().swap(metrics.time);  // swap, since `= {}` would keep the memory
    if (!steps.empty()) std::vector<double>().swap(steps.back().passes);
    steps.push_back(std::move(metrics));
  });
  return steps;
}

std::vector<StepMetrics> read_discarded_metrics(const std::string& path) {
  std::vector<StepMetrics> metrics;
  each_line(path, [&](std::string_view line, std::int64_t) {
    try {
      StepMetrics read = step_metrics_of(line, path);
      std::string().swap(read.time);
      std::vector<double>().swap(read.passes);
      metrics.push_back(std::move(read));
    } catch (const Error&) {  // the rest of a line whose writer was killed
    }
  });
  return metrics;
}

std::vector<std::int64_t> restart_steps(const std::vector<StepMetrics>& metrics,
                                        const std::vector<StepMetrics>& discarded, std::int64_t log_every) {
  std::map<std::int64_t, std::int64_t> first_steps;
  bool recorded = false;
  for (const auto* lines : {&metrics, &discarded}) {
    for (const StepMetrics& m : *lines) {
      if (!m.restarts) continue;
      recorded = true;
      const auto [place, is_new] = first_steps.emplace(*m.restarts, m.step);
      if (!is_new) place->second = std::min(place->second, m.step);
    }
  }
  return recorded ? ascending(first_steps) : starts_of_blocks(discarded, log_every);
}

namespace {

Profile::Rank rank_of(const JsonReader& entry) {
  Profile::Rank rank{
      .rank = entry.integer("rank"), .node = entry.text("node"), .wall = entry.number("wall"), .seconds = {}};
  const JsonReader seconds = entry.at("seconds");
  for (std::size_t i = 0; i < Profile::kinds.size(); ++i) {
    rank.seconds[i] = seconds.number(std::string(Profile::kinds[i]).c_str());
  }
  return rank;
}

Profile::Kernel kernel_of(const JsonReader& entry) {
  return {.name = entry.text("name"),
          .kind = entry.text("kind"),
          .phase = entry.text("phase"),
          .calls = entry.integer("calls"),
          .seconds = entry.number("seconds"),
          .bytes = entry.number("bytes")};
}

}  // namespace

Profile read_profile(const std::string& path) {
  const auto json = parse_json(text_of_file("report", path), "report", path, "JSON");
  const JsonReader file(json, "report", path);
  const std::vector<std::int64_t> steps = file.at("steps").integers(0, INT64_MAX, 2);
  Profile profile{.first_step = steps[0], .last_step = steps[1], .ranks = {}, .kernels = {}};
  for (const JsonReader& entry : file.list("ranks")) profile.ranks.push_back(rank_of(entry));
  for (const JsonReader& entry : file.list("kernels")) profile.kernels.push_back(kernel_of(entry));
  return profile;
}

namespace {

namespace fs = std::filesystem;

RunStatus status_of(const std::string& path) {
  parse_json(text_of_file("report", path, "", longest_status), "report", path,
             "JSON");  // whose message says where it is damaged
  if (auto status = read_status(path)) return *std::move(status);
  throw usage_error("report", "{}: expected state, reason, exit_code, step and steps of a run", path);
}

/// Absolute, without links, "." and a slash at the end.
fs::path place_of(const std::string& path) {
  std::error_code error;
  fs::path place = fs::canonical(path, error);
  if (error || !fs::is_directory(place, error)) throw usage_error("report", "{}: is no run directory", path);
  return place;
}

/// Without a status there is no run, or one that has not begun its steps. The folder of several runs is a likely
/// mistake.
void expect_status(const std::string& path) {
  std::error_code unreadable;
  if (fs::exists(fs::path(path) / "status.json", unreadable)) return;
  std::set<std::string> runs;
  std::error_code of_list;
  for (fs::directory_iterator i(path, of_list); !of_list && i != fs::directory_iterator(); i.increment(of_list)) {
    if (fs::exists(i->path() / "status.json", unreadable)) runs.insert(i->path().filename().string());
  }
  const std::string hint = runs.empty() ? "" : fmt::format("; {} is one: name the runs themselves", *runs.begin());
  throw usage_error("report", "{}: is no run directory: there is no status.json in it{}", path, hint);
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

/// N of the head line "# N parameters" of model.yaml; empty where it is another one.
std::string parameters_of(std::string_view text) {
  constexpr std::string_view head = "# ", tail = " parameters\n";
  const std::size_t end = text.find(tail);
  if (!text.starts_with(head) || end == std::string_view::npos) return "";
  const std::string_view number = text.substr(head.size(), end - head.size());
  return number.find_first_not_of("0123456789,") == std::string_view::npos ? std::string(number) : "";
}

}  // namespace

std::string RunFiles::option(const std::string& key) const {
  const auto found = config.find(key);
  return found == config.end() ? "" : found->second;
}

RunFiles read_run(const std::string& path) {
  const auto file = [&](const char* name) { return (fs::path(path) / name).string(); };
  // What cannot be looked at is taken to be there: reading it says why.
  const auto there = [&](const char* name) {
    std::error_code error;
    return fs::status(file(name), error).type() != fs::file_type::not_found;
  };
  const fs::path place = place_of(path);
  expect_status(path);
  const RunStatus written = status_of(file("status.json"));
  RunFiles run;
  run.path = path;
  run.name = place.filename().string();
  run.status = believed(written, ask_owner(path));
  if (there("config.yaml")) {
    run.config = flat_yaml(text_of_file("report", file("config.yaml")), file("config.yaml"));
  }
  if (there("model.yaml")) {
    const std::string model = text_of_file("report", file("model.yaml"));
    run.model = flat_yaml(model, file("model.yaml"));
    run.parameters = parameters_of(model);
  }
  if (there("metrics.jsonl")) run.metrics = read_metrics(file("metrics.jsonl"));
  // Where a rank was lost, an older octet job wrote the step of the last save.
  const bool lost = written.exit_code == static_cast<int>(ExitCode::lost_peer);
  if ((written.state == "running" || lost) && !run.metrics.empty()) {
    run.status.step = std::max(run.status.step, run.metrics.back().step);
  }
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

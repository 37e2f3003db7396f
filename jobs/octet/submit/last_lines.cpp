#include "jobs/octet/submit/last_lines.h"

#include <algorithm>
#include <span>

#include "src/base/error.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/read_file.h"
#include "src/metrics/step_metrics.h"

namespace octet::submit {
namespace {

constexpr std::int64_t bytes_of_the_end = std::int64_t{1} << 20;
constexpr std::int64_t most_steps_of_a_line = std::int64_t{1} << 40;  // so that no sum of them overflows

/// Of the newest start, newest first.
std::vector<StepMetrics> newest_start(const std::vector<std::string>& lines) {
  std::vector<StepMetrics> start;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    try {
      StepMetrics metrics = step_metrics_of(*line, "metrics.jsonl");
      if (!start.empty() && metrics.restarts != start.front().restarts) break;
      start.push_back(std::move(metrics));
    } catch (const Error&) {
      break;
    }
  }
  return start;
}

}  // namespace

std::vector<std::string> last_lines(const std::string& run_dir) {
  const std::string path = run_dir + "/metrics.jsonl";
  std::vector<std::string> lines;
  const FileHandle file = open_to_read(path.c_str());  // a pipe would wait for its writer
  if (!file) return lines;
  std::string text;
  std::int64_t from = 0;
  try {
    const files::InputFile input(path, file.get());
    from = std::max<std::int64_t>(0, input.size() - bytes_of_the_end);
    input.read_blocks([&](std::span<const char> block) { text.append(block.data(), block.size()); }, {.offset = from});
  } catch (const files::ReadError& error) {
    log::warning("{}", error.what());
    return lines;
  }
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  if (from > 0 && !lines.empty()) lines.erase(lines.begin());  // the end of one
  return lines;
}

std::int64_t last_logged_step(const std::string& run_dir) {
  const std::vector<std::string> lines = last_lines(run_dir);
  if (lines.empty()) return 0;
  try {
    const auto json = parse_json(lines.back(), "submit", run_dir, "the metrics of a step");
    return JsonReader(json, "submit", run_dir).integer("step", 0);
  } catch (const Error&) {
    return 0;
  }
}

std::optional<Pace> last_pace(const std::vector<std::string>& lines) {
  std::vector<StepMetrics> start = newest_start(lines);
  if (start.size() > 1) start.pop_back();
  double seconds = 0;
  std::int64_t steps = 0;
  for (const StepMetrics& metrics : start) {
    const auto wall = wall_seconds(metrics);
    if (!wall || metrics.interval_steps < 1 || metrics.interval_steps > most_steps_of_a_line) return std::nullopt;
    seconds += *wall;
    steps += metrics.interval_steps;
  }
  if (steps == 0 || !(seconds >= 0)) return std::nullopt;
  return Pace{seconds / static_cast<double>(steps), steps};
}

}  // namespace octet::submit

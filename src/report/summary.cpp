#include "src/report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "src/base/options/text.h"
#include "src/report/run_files.h"

namespace octet {
namespace {

constexpr const char* none = "–";

std::int64_t integer_option(const RunFiles& run, const std::string& key, std::int64_t otherwise) {
  std::int64_t value = otherwise;
  parse(run.option(key), value);
  return value;
}

std::string state(const RunFiles& run) {
  const RunStatus& s = run.status;
  return s.state == "failed" ? fmt::format("failed, exit code {}", s.exit_code) : s.state;
}

std::string steps_done(const RunFiles& run) {
  return fmt::format("{} of {}", grouped(static_cast<double>(run.status.step)),
                     grouped(static_cast<double>(run.status.steps)));
}

/// The option's value, or a sign that there is none, for a run that failed before it wrote its configuration.
std::string option(const RunFiles& run, const std::string& key) {
  return run.config.empty() ? none : run.option(key);
}

std::string model(const RunFiles& run) {
  const std::string name = option(run, "model");
  return run.parameters.empty() ? name : fmt::format("{}, {} parameters", name, run.parameters);
}

std::string precision(const RunFiles& run) {
  std::string text = option(run, "precision");
  if (text == "float8") text += ", " + run.option("float8.recipe");
  return text;
}

/// Dimensions of the mesh; those of one rank are left out.
std::string layout(const RunFiles& run) {
  if (run.config.empty()) return none;
  std::vector<std::string> parts;
  for (const char* dimension : {"pp", "dp_replicate", "dp_shard", "cp", "tp"}) {
    const std::string value = run.option(std::string("parallel.") + dimension);
    if (!value.empty() && value != "1") parts.push_back(fmt::format("{} {}", dimension, value == "0" ? "all" : value));
  }
  return parts.empty() ? "one rank" : joined(parts, " × ");
}

std::string batch(const RunFiles& run) {
  if (run.config.empty()) return none;
  return fmt::format("{} × {} tokens", run.option("train.global_batch"), run.option("train.seq_len"));
}

/// The last value that was measured and is finite, and its step.
std::string last(const RunFiles& run, std::optional<double> (*value)(const StepMetrics&)) {
  for (auto m = run.metrics.rbegin(); m != run.metrics.rend(); ++m) {
    const auto x = value(*m);
    if (x && std::isfinite(*x)) return fmt::format("{:.4f} (step {})", *x, grouped(static_cast<double>(m->step)));
  }
  return none;
}

std::string final_loss(const RunFiles& run) {
  return last(run, [](const StepMetrics& m) -> std::optional<double> { return m.loss; });
}

std::string final_validation_loss(const RunFiles& run) {
  return last(run, [](const StepMetrics& m) { return m.validation_loss; });
}

std::string final_bits_per_byte(const RunFiles& run) {
  return last(run, [](const StepMetrics& m) { return m.validation_bits_per_byte; });
}

/// Those of the last line; of several sources each, in the order of the configuration.
std::string passes(const RunFiles& run) {
  if (run.metrics.empty() || run.metrics.back().passes.empty()) return none;
  std::vector<std::string> texts;
  for (const double p : run.metrics.back().passes) texts.push_back(fmt::format("{:.2f}", p));
  return joined(texts, ", ");
}

std::string rate(std::optional<double> tokens_per_second) {
  return tokens_per_second ? grouped(*tokens_per_second) + " tokens/s" : none;
}

std::string throughput(const RunFiles& run) {
  return rate(mean_throughput(run.metrics, restart_steps(run)).with_pauses);
}

std::string training_throughput(const RunFiles& run) {
  return rate(mean_throughput(run.metrics, restart_steps(run)).training);
}

std::string best_mfu(const RunFiles& run) {
  std::optional<double> best;
  for (const StepMetrics& m : run.metrics) {
    if (m.mfu && (!best || *m.mfu > *best)) best = m.mfu;
  }
  return best ? fmt::format("{:.1f} %", *best) : "unknown";
}

std::string memory(const RunFiles& run) {
  std::int64_t peak = 0;
  for (const StepMetrics& m : run.metrics) peak = std::max(peak, m.memory_bytes);
  return run.metrics.empty() ? none : fmt::format("{:.2f} GiB", static_cast<double>(peak) / 0x1p30);
}

std::string restarts(const RunFiles& run) {
  const std::int64_t count = run.status.restarts;
  const std::int64_t unknown = count - static_cast<std::int64_t>(restart_steps(run).size());
  std::string text = std::to_string(count);
  if (unknown > 0)
    text += fmt::format(", {}at a step that is not known", unknown == count ? "" : fmt::format("{} of them ", unknown));
  if (!run.discarded.empty()) {
    text += fmt::format("; {} logged step{} done again", run.discarded.size(), run.discarded.size() == 1 ? "" : "s");
  }
  return text;
}

/// Where a run writes and what it is called say nothing about what it does.
bool is_of_the_place(const std::string& key) {
  return key == "run.dir";
}

/// Adds the keys whose values are not the same in all runs that have the file at all.
void add_differing(const std::vector<RunFiles>& runs, std::map<std::string, std::string> RunFiles::*file,
                   const std::string& prefix, std::vector<TableRow>& rows) {
  std::set<std::string> keys;
  for (const RunFiles& run : runs) {
    for (const auto& entry : run.*file) keys.insert(entry.first);
  }
  for (const std::string& key : keys) {
    if (is_of_the_place(key)) continue;
    TableRow row{prefix + key, {}};
    std::set<std::string> values;
    for (const RunFiles& run : runs) {
      const auto found = (run.*file).find(key);
      row.values.push_back(found == (run.*file).end() ? "(none)" : found->second);
      if (!(run.*file).empty()) values.insert(row.values.back());
    }
    if (values.size() > 1) rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<std::int64_t> restart_steps(const RunFiles& run) {
  return restart_steps(run.metrics, run.discarded, integer_option(run, "train.log_every", 1));
}

TokensPerSecond mean_throughput(const std::vector<StepMetrics>& metrics, const std::vector<std::int64_t>& restarts) {
  double tokens = 0, training = 0;
  std::optional<double> wall = 0;
  for (std::size_t i = 1; i < metrics.size(); ++i) {
    const StepMetrics& m = metrics[i];
    if (std::ranges::binary_search(restarts, m.step)) continue;
    const double seconds = static_cast<double>(m.interval_steps) * m.step_seconds;
    tokens += m.tokens_per_second * seconds;
    training += seconds;
    const auto pauses_too = wall_seconds(m);
    wall = wall && pauses_too ? std::optional(*wall + *pauses_too) : std::nullopt;
  }
  const auto per = [&](double seconds) { return seconds > 0 ? std::optional(tokens / seconds) : std::nullopt; };
  return {.with_pauses = wall ? per(*wall) : std::nullopt, .training = per(training)};
}

std::vector<TableRow> summary_table(const std::vector<RunFiles>& runs) {
  const std::vector<std::pair<const char*, std::function<std::string(const RunFiles&)>>> columns = {
      {"State", state},
      {"Reason", [](const RunFiles& run) { return run.status.reason.empty() ? none : run.status.reason; }},
      {"Status written", [](const RunFiles& run) { return run.status.time; }},
      {"Steps", steps_done},
      {"Model", model},
      {"Precision", precision},
      {"Layout", layout},
      {"Global batch", batch},
      {"Passes over the data", passes},
      {"Device", [](const RunFiles& run) { return option(run, "device"); }},
      {"Last loss", final_loss},
      {"Last validation loss", final_validation_loss},
      {"The same in bits a byte of text", final_bits_per_byte},
      {"Throughput, with pauses", throughput},
      {"Throughput, training alone", training_throughput},
      {"Best MFU", best_mfu},
      {"Memory of rank 0, peak", memory},
      {"Restarts", restarts},
      {"Directory", [](const RunFiles& run) { return run.path; }},
  };
  std::vector<TableRow> rows;
  for (const auto& [label, text] : columns) {
    rows.push_back({label, {}});
    for (const RunFiles& run : runs) rows.back().values.push_back(text(run));
  }
  return rows;
}

std::vector<TableRow> differing_options(const std::vector<RunFiles>& runs) {
  std::vector<TableRow> rows;
  add_differing(runs, &RunFiles::model, "model.", rows);
  add_differing(runs, &RunFiles::config, "", rows);
  return rows;
}

}  // namespace octet

#include "src/run_config/resume/setting_changes.h"

#include <algorithm>

#include "src/base/log.h"
#include "src/base/options/text.h"
#include "src/base/options/yaml.h"
#include "src/run_config/options/resume_rules.h"
#include "src/run_config/options/run_options.h"

namespace octet {
namespace {

/// parallel.zero 1 adds up micro-batches before ranks, the others after them.
bool sums_otherwise(const SettingChange& change) {
  return change.key == "parallel.zero" && (change.then == "1" || change.now == "1");
}

}  // namespace

std::vector<SettingChange> setting_changes(const std::string& stored, const std::string& source,
                                           const RunConfig& config, std::vector<std::string>& unknown) {
  RunConfig then, now = config;
  Schema old, present;
  declare_stored_options(old, then);
  declare_stored_options(present, now);
  read_yaml_known(old, stored, source, unknown);
  std::vector<SettingChange> changes;
  // A run stores all its options, and a shape is whole, so a key that they lack is newer than the checkpoint, which was
  // made with the default. An imported checkpoint has a shape alone.
  const bool has_options = old.find("precision")->is_set(), has_shape = old.find("model_shape.dim")->is_set();
  for (const Option& option : present.options()) {
    if (option.section() == schedule_history || option.section() == data_history) continue;  // no settings
    const Option* before = old.find(option.name());
    const bool known = before->is_set() || (option.section() == "model_shape" ? has_shape : has_options);
    if (known && before->text() != option.text()) {
      changes.push_back({option.name(), before->text(), option.text()});
    }
  }
  return changes;
}

RunConfig stored_config(const std::string& stored, const std::string& source, const RunConfig& config) {
  RunConfig then = config;
  then.schedule.extensions.clear();
  then.data.changes.clear();
  then.data.history = {.order = 1, .added = {}, .tokenizer = {}};  // of a checkpoint that says nothing of it
  Schema schema;
  declare_stored_options(schema, then);
  std::vector<std::string> unknown;
  read_yaml_known(schema, stored, source, unknown);
  return then;
}

std::vector<SettingChange> check_settings(const std::string& stored, const std::string& source, const RunConfig& config,
                                          std::vector<std::string>& unknown) {
  std::vector<SettingChange> changes = setting_changes(stored, source, config, unknown);
  for (SettingChange& change : changes) {
    if (may_change(change.key, config)) {
      change.same_bits = keeps_bits(change.key, config) && !sums_otherwise(change);
      continue;
    }
    const bool may = may_be_allowed(change.key);
    const auto& allowed = config.checkpoint.allow_changes;
    change.decides = true;
    if (may && std::ranges::find(allowed, change.key) != allowed.end()) continue;
    throw usage_error("config",
                      "{}: {} = {} there, {} now; the run can only go on with the same (or begin in another run.dir{}; "
                      "docs/problems.md, \"Settings differ from those of the run\")",
                      source, change.key, change.then, change.now,
                      may ? ", or change it on purpose with --checkpoint.allow_changes " + change.key +
                                (change.key == "data.changes" ? ", which lets only steps that are not done change" : "")
                          : "");
  }
  return changes;
}

void check_length(std::int64_t step, const RunConfig& config, const std::string& source) {
  if (step <= config.train.steps) return;
  throw usage_error("config", "{}: is of step {}, beyond train.steps = {}", source, step, config.train.steps);
}

void log_changes(const std::vector<SettingChange>& changes, const std::vector<std::string>& unknown,
                 const std::string& directory) {
  std::vector<std::string> texts, rounding;
  for (const SettingChange& c : changes) {
    texts.push_back(fmt::format("{} {} -> {}", c.key, c.then, c.now));
    if (!c.same_bits) rounding.push_back(c.key);
    if (c.decides && log::rank() == 0) {
      log::warning(
          "checkpoint.allow_changes: {} = {} there, {} now: from here on the results differ from those of the run "
          "without this change",
          c.key, c.then, c.now);
    }
  }
  if (!texts.empty()) log::info("settings that differ from those in {}: {}", directory, joined(texts));
  if (!rounding.empty()) {
    log::info("since {} changed, losses go on within rounding, not to the bit", joined(rounding));
  }
  if (!unknown.empty() && log::rank() == 0) {
    log::warning("{}: these settings are not known to this version of Octet and are ignored: {}", directory,
                 joined(unknown));
  }
}

}  // namespace octet

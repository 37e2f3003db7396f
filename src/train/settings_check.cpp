#include "src/train/settings_check.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/base/options/yaml.h"
#include "src/train/schema.h"

namespace octet {
namespace {

/// An entry that ends with a dot is a section.
constexpr std::array<std::string_view, 17> changeable = {"model",  // a name or a path; the shape is in model_shape
                                                         "device",
                                                         "run.dir",
                                                         "run.tensorboard",
                                                         "train.steps",
                                                         "train.micro_batch",
                                                         "train.validate_every",
                                                         "train.validation_batches",
                                                         "train.log_every",
                                                         "train.max_wall_time",
                                                         "data.train",
                                                         "parallel.",
                                                         "recompute.",
                                                         "checkpoint.",
                                                         "comm.",
                                                         "cpu.",
                                                         "cuda."};

}  // namespace

std::vector<SettingChange> setting_changes(const std::string& stored, const std::string& source,
                                           const RunConfig& config, std::vector<std::string>& unknown) {
  RunConfig then, now = config;
  Schema old, present;
  declare_stored_options(old, then);
  declare_stored_options(present, now);
  read_yaml_known(old, stored, source, unknown);
  std::vector<SettingChange> changes;
  for (const Option& option : present.options()) {
    const Option* before = old.find(option.name());
    if (before->is_set() && before->text() != option.text()) {
      changes.push_back({option.name(), before->text(), option.text()});
    }
  }
  return changes;
}

bool may_change(const std::string& key, const RunConfig& config) {
  if (key.starts_with("float8.")) return config.precision != Precision::float8;
  return std::ranges::any_of(
      changeable, [&](std::string_view entry) { return entry.ends_with('.') ? key.starts_with(entry) : key == entry; });
}

std::vector<SettingChange> check_settings(const std::string& stored, const std::string& source, const RunConfig& config,
                                          std::vector<std::string>& unknown) {
  std::vector<SettingChange> changes = setting_changes(stored, source, config, unknown);
  const auto wrong = std::ranges::find_if_not(changes, [&](const auto& c) { return may_change(c.key, config); });
  if (wrong == changes.end()) return changes;
  throw usage_error("train",
                    "{}: {} = {} there, {} now; the run can only go on with the same (or begin in another run.dir)",
                    source, wrong->key, wrong->then, wrong->now);
}

}  // namespace octet

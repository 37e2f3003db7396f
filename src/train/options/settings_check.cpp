#include "src/train/options/settings_check.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/base/log.h"
#include "src/base/options/text.h"
#include "src/base/options/yaml.h"
#include "src/train/options/run_options.h"

namespace octet {
namespace {

struct Changeable {
  std::string_view name;  ///< a key; with a dot at its end, a section
  bool same_bits = true;  ///< with another value every number comes out the same; else within rounding
};

constexpr auto changeable = std::to_array<Changeable>({
    {"model"},  // a name or a path; the shape is in model_shape
    {"model_shape.max_positions"},
    {"device", false},
    {"run.dir"},
    {"run.tensorboard"},
    {"init.from"},    // is not read again
    {"train.steps"},  // as schedule_extensions.h lets it
    {"train.micro_batch", false},
    {"train.validate_every"},
    {"train.validation_batches"},
    {"train.log_every"},
    {"train.profile"},
    {"train.late_results"},
    {"train.slow_rank_every"},
    {"train.slow_rank_factor"},
    {"train.health_seconds"},
    {"train.max_wall_time"},
    {"data.train"},
    {"data.max_passes"},
    {"schedule.extend"},
    {"schedule_history."},
    {"data_history."},
    {"optimizer.beside_forward"},
    {"optimizer.beside_multiprocessors"},
    {"optimizer.beside_gemms"},
    {"parallel.dp_replicate", false},
    {"parallel.dp_shard", false},
    {"parallel.tp", false},
    {"parallel.tp_keep_gathered"},
    {"parallel.async_tp", false},
    {"parallel.cp", false},
    {"parallel.pp", false},
    {"parallel.pp_schedule"},
    {"parallel.pp_chunks", false},
    {"parallel.pp_layout", false},
    {"parallel.zero"},
    {"parallel.overlap"},
    {"parallel.one_rank_exchange", false},
    {"parallel.check_replicas_every"},
    {"recompute."},
    {"float8.keep_transposed_weights"},
    {"checkpoint."},
    {"comm."},
    {"cpu.gemm", false},
    {"cpu.threads", false},
    {"cpu.bind"},
    {"cuda.deterministic", false},
    {"cuda.gemm", false},
    {"cuda.gemm_plans", false},
    {"cuda.attention", false},
    {"cuda.document_attention", false},
    {"cuda.graphs"},
    {"nccl.", false},
});

const Changeable* find_changeable(const std::string& key) {
  const auto found = std::ranges::find_if(changeable, [&](const Changeable& entry) {
    return entry.name.ends_with('.') ? key.starts_with(entry.name) : key == entry.name;
  });
  return found == changeable.end() ? nullptr : &*found;
}

/// All options of float8 decide the result, except whether transposed weights are kept, which the start of a run may
/// decide by the memory of its device, its ranks and its layout.
bool is_of_float8(const std::string& key) {
  return key.starts_with("float8.") && key != "float8.keep_transposed_weights";
}

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

bool may_change(const std::string& key, const RunConfig& config) {
  if (is_of_float8(key)) return config.precision != Precision::float8;
  return find_changeable(key) != nullptr;
}

bool keeps_bits(const std::string& key, const RunConfig& config) {
  if (is_of_float8(key)) return config.precision != Precision::float8;
  const bool of_the_other = key.starts_with(config.device == DeviceType::cpu ? "cuda." : "cpu.");
  if (of_the_other) return may_change(key, config);  // has no effect
  if (key == "cuda.document_attention") return !config.data.document_mask || config.cuda.deterministic;
  // Of a GPU, GEMMs that are chosen for other multiprocessors may round otherwise.
  if (key.starts_with("optimizer.beside_") && config.device == DeviceType::cuda) {
    return key != "optimizer.beside_gemms" && config.optimizer.beside_gemms == BesideGemms::all;
  }
  const Changeable* entry = find_changeable(key);
  return entry != nullptr && entry->same_bits;
}

namespace {

constexpr std::array allowed_options = {"precision",         "parallel.gradient_wire", "parallel.whole_gradients",
                                        "train.steps",       "data.changes",           "data.document_mask",
                                        "data.loss_on_first"};
constexpr std::array allowed_sections = {"optimizer", "schedule", "float8"};

}  // namespace

bool may_be_allowed(const std::string& key) {
  return std::ranges::find(allowed_options, key) != allowed_options.end() ||
         std::ranges::any_of(allowed_sections,
                             [&](const char* section) { return key.starts_with(std::string(section) + "."); });
}

std::string allowed_changes_text() {
  return fmt::format("{}, data.train (to add sources), and all options of {}", fmt::join(allowed_options, ", "),
                     fmt::join(allowed_sections, ", "));
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
    throw usage_error("train",
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
  throw usage_error("train", "{}: is of step {}, beyond train.steps = {}", source, step, config.train.steps);
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

#include "src/run_config/options/resume_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

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

constexpr std::array allowed_options = {"precision",         "parallel.gradient_wire", "parallel.whole_gradients",
                                        "train.steps",       "data.changes",           "data.document_mask",
                                        "data.loss_on_first"};
constexpr std::array allowed_sections = {"optimizer", "schedule", "float8"};

}  // namespace

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

bool may_be_allowed(const std::string& key) {
  return std::ranges::find(allowed_options, key) != allowed_options.end() ||
         std::ranges::any_of(allowed_sections,
                             [&](const char* section) { return key.starts_with(std::string(section) + "."); });
}

std::string allowed_changes_text() {
  return fmt::format("{}, data.train (to add sources), and all options of {}", fmt::join(allowed_options, ", "),
                     fmt::join(allowed_sections, ", "));
}

}  // namespace octet

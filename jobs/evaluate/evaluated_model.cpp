#include "jobs/evaluate/evaluated_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/base/error.h"
#include "src/base/options/yaml.h"
#include "src/base/progress.h"
#include "src/base/round_up.h"
#include "src/evaluate/memory_needs.h"
#include "src/run_config/checks/checks.h"
#include "src/run_config/options/sections.h"

namespace octet::evaluate {
namespace {

/// On a CPU what stays near the caches was fastest (docs/benchmarks.md); a GPU wants larger GEMMs.
std::int64_t usual_row(DeviceType device) {
  return device == DeviceType::cpu ? 512 : 8192;
}

/// A row is cut into equal parts under tp, and fp8 GEMMs want multiples of what they contract and keep.
std::int64_t row_of(const LlamaSettings& settings, const ModelOptions& options, std::int64_t window) {
  const std::int64_t multiple = std::lcm(settings.gemm_multiple(options.device), options.tp),
                     asked = options.row_tokens;
  if (asked == 0) return round_up(std::max(window, usual_row(options.device)), multiple);
  if (asked < window) {
    throw usage_error("evaluate", "--row-tokens is {}; expected at least the window of {} tokens", asked, window);
  }
  if (asked % multiple != 0) {
    throw usage_error("evaluate", "--row-tokens is {}; expected a multiple of {}, as --precision {} and --tp {} want",
                      asked, multiple, options.precision, options.tp);
  }
  return asked;
}

Float8Config float8_of(const ModelSource& source, const ModelOptions& options) {
  if (options.precision != Precision::float8) return {};
  Float8Config float8 = source.precision == Precision::float8 ? source.float8 : Float8Config{};
  Schema schema;
  declare_float8(schema, float8);
  for (const auto& [name, value] : options.float8) read_argument(*schema.find(name), value);
  return float8;
}

/// "float8 rowwise, bf16_linears [attention.wo]": all that is not the default.
std::string float8_text(const Float8Config& config) {
  Float8Config float8;
  Schema schema;
  declare_float8(schema, float8);
  float8 = config;
  std::string text = "float8 " + config.recipe;
  for (const Option& option : schema.options()) {
    if (option.key() == "recipe" || option.text() == option.default_text()) continue;
    text += fmt::format(", {} {}", option.key(), option.text());
  }
  return text;
}

/// What a run of that model, device and precision is refused for.
void check(const LlamaSettings& settings, const ModelOptions& options, Device& device) {
  RunConfig config;
  config.model = settings.model;
  config.precision = settings.precision;
  config.float8 = settings.float8;
  config.device = options.device;
  config.parallel.tp = options.tp;
  config.train.seq_len = settings.seq_len;
  Origins at{{"parallel.tp", "--tp"}, {"precision", "--precision"}, {"model", "MODEL"}};
  for (const auto& [name, value] : options.float8) at[name] = "--" + name;
  check_tensor_parallel(config, at);
  check_attention(config, at);
  check_device(config, at);
  if (settings.precision == Precision::float8) {
    check_names(config, at);
    check_float8_gather(config, at);
    check_float8(config, at);
  }
  if (device.type() == DeviceType::cuda) check_gpu(config, device.compute_capability(), at);
}

}  // namespace

std::int64_t window_of(const ModelSource& source, std::int64_t asked) {
  if (asked > 0) return asked;
  if (source.window > 0) return source.window;
  throw usage_error("evaluate",
                    "{}: was not trained here, and its config.json had no max_position_embeddings; give --window",
                    source.name());
}

LlamaSettings settings_of(const ModelSource& source, const ModelOptions& options, Mesh& mesh) {
  return {.model = source.model,
          .precision = options.precision,
          .float8 = float8_of(source, options),
          .micro_batch = 1,
          .tp = {mesh.tp().rank(), mesh.tp().size()}};
}

std::unique_ptr<ForwardModel> load_model(const ModelSource& source, const LlamaSettings& settings,
                                         const ModelOptions& options, Mesh& mesh, Stream& stream,
                                         Communicator& control) {
  check(settings, options, stream.device());
  expect_room(settings, mesh, stream.device(), control);
  auto model = std::make_unique<ForwardModel>(settings, mesh, stream);
  load_weights(source, *model, stream, control);
  return model;
}

std::string text_of(const ModelSource& source, const LlamaSettings& settings, std::int64_t window) {
  const bool float8 = settings.precision == Precision::float8;
  return fmt::format("{}: {:.4g} M parameters, {}, window {}", source.name(),
                     static_cast<double>(source.model.parameters()) / 1e6,
                     float8 ? float8_text(settings.float8) : std::string(name_of(settings.precision)), window);
}

FoundModel::FoundModel(const std::string& path, const ModelOptions& asked, Mesh& mesh, Device& device,
                       Communicator& control)
    : options(asked),
      source(find_model(path, control)),
      settings(settings_of(source, options, mesh)),
      window(window_of(source, options.window)),
      longest_text(window) {
  settings.seq_len = row_of(settings, options, window);
  check(settings, options, device);
}

std::int64_t FoundModel::limit_matters_up_to() const {
  return options.row_tokens == 0 && window > usual_row(options.device) ? window : 1;
}

void FoundModel::limit_texts_to(std::int64_t tokens) {
  if (limit_matters_up_to() == 1) return;
  longest_text = std::clamp<std::int64_t>(tokens, 1, window);
  const std::int64_t multiple = std::lcm(std::int64_t{128}, options.tp);  // suits every recipe
  settings.seq_len = std::min(settings.seq_len, round_up(std::max(longest_text, usual_row(options.device)), multiple));
}

EvaluatedModel::EvaluatedModel(const FoundModel& found, Mesh& mesh, Stream& stream, Communicator& control)
    : model_(load_model(found.source, found.settings, found.options, mesh, stream, control)),
      scorer_(std::make_unique<ModelScorer>(*model_, found.longest_text, mesh, control)) {}

std::string memory_text(Device& device) {
  const MemoryLedger& ledger = device.ledger();
  std::string text = fmt::format("memory: {} at most", format_bytes(ledger.total().peak));
  const char* separator = ", now ";
  for (int i = 0; i < static_cast<int>(Purpose::count); ++i) {
    const auto purpose = static_cast<Purpose>(i);
    if (const std::int64_t bytes = ledger.usage(purpose).now; bytes > 0) {
      text += fmt::format("{}{} {}", std::exchange(separator, ", "), name_of(purpose), format_bytes(bytes));
    }
  }
  return text;
}

}  // namespace octet::evaluate

#include "src/model/recompute.h"

#include <fmt/ranges.h>

#include "src/base/error.h"

namespace octet {
namespace {

using enum Activation;

ActivationSet kept_by(RecomputePreset preset) {
  switch (preset) {
    case RecomputePreset::elementwise:
      return {q, k, v, attention_output, residual, gate, up};
    case RecomputePreset::ffn:
      return {q, k, v, attention_output, residual};
    case RecomputePreset::linears:
      return {attention_output};
    case RecomputePreset::none:
      break;
  }
  throw usage_error("model", "recompute.mode = selective: expected a preset, or what is kept");
}

Activation activation(const std::string& name) {
  if (const auto found = value_named<Activation>(name)) return *found;
  throw usage_error("model", "recompute.keep = \"{}\", expected names of {}", name,
                    fmt::join(names_of(Activation{}), ", "));
}

ActivationSet kept_by(const RecomputeConfig& config) {
  if (config.mode == RecomputeMode::none) return ActivationSet::all();
  if (config.mode == RecomputeMode::full) return {};
  if (config.keep.empty()) return kept_by(config.preset);
  ActivationSet kept;
  for (const std::string& name : config.keep) kept.add(activation(name));
  return kept;
}

}  // namespace

RecomputePolicy RecomputePolicy::of(const RecomputeConfig& config, std::int64_t layers) {
  return {kept_by(config), config.every, layers};
}

std::int64_t RecomputePolicy::blocks_again() const {
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < layers; ++layer) count += again(layer) ? 1 : 0;
  return count;
}

}  // namespace octet

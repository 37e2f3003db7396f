#include "src/model/recompute.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "src/base/error.h"

namespace octet {
namespace {

using enum Activation;

ActivationSet preset(std::string_view name) {
  if (name == "elementwise") return {q, k, v, attention_output, residual, gate, up};
  if (name == "ffn") return {q, k, v, attention_output, residual};
  if (name == "linears") return {attention_output};
  throw usage_error("model", "recompute.preset = \"{}\", expected one of {}", name, fmt::join(recompute_presets, ", "));
}

Activation activation(std::string_view name) {
  const auto* found = std::ranges::find(activation_names, name);
  if (found == activation_names.end()) {
    throw usage_error("model", "recompute.keep = \"{}\", expected names of {}", name,
                      fmt::join(activation_names, ", "));
  }
  return static_cast<Activation>(found - activation_names.begin());
}

ActivationSet kept_by(const RecomputeConfig& config) {
  if (config.mode == "none") return ActivationSet::all();
  if (config.mode == "full") return {};
  if (config.mode != "selective") {
    throw usage_error("model", "recompute.mode = \"{}\", expected one of {}", config.mode,
                      fmt::join(recompute_modes, ", "));
  }
  if (config.keep.empty()) return preset(config.preset);
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

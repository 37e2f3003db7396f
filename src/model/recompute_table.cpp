#include "src/model/recompute_table.h"

#include <fmt/ranges.h>

namespace octet {
namespace {

std::string label(const RecomputeConfig& c) {
  std::string text = c.mode;
  if (c.mode == "selective") text += c.keep.empty() ? " " + c.preset : fmt::format(", keep {}", fmt::join(c.keep, " "));
  return c.every == 1 ? text : fmt::format("{}, every {}", text, c.every);
}

}  // namespace

RecomputeCost recompute_cost(LlamaSettings settings, const RecomputeConfig& recompute, Stream& stream) {
  settings.recompute = recompute;
  const Llama::MemoryNeeds needs = Llama::plan(settings, stream);
  const ModelConfig& model = settings.model;
  const RecomputePolicy policy = RecomputePolicy::of(recompute, model.layers);
  return {needs.activations + needs.recomputed,
          recompute_flops_per_token(model, policy, settings.seq_len) / model.flops_per_token(settings.seq_len)};
}

std::string recompute_table(const LlamaSettings& settings, Stream& stream) {
  std::string table = fmt::format("  {:>16} {:>12}  {}\n", "activations, MiB", "extra FLOPs", "recompute");
  const auto row = [&](const RecomputeConfig& c, bool chosen) {
    const RecomputeCost cost = recompute_cost(settings, c, stream);
    table += fmt::format("  {:>16.1f} {:>10.1f} %  {}{}\n", static_cast<double>(cost.activations) / 0x1p20,
                         100 * cost.extra_flops, label(c), chosen ? " (chosen)" : "");
  };
  const RecomputeConfig& c = settings.recompute;
  const bool plain_full = c.mode == "full" && c.every == 1;
  row({.mode = "none"}, c.mode == "none");
  row({.mode = "full"}, plain_full);
  if (c.mode != "none" && !plain_full) row(c, true);
  return table;
}

}  // namespace octet

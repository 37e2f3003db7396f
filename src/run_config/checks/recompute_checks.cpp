#include "src/run_config/checks/checks.h"

#include <algorithm>

#include "src/base/options/text.h"
#include "src/model/gemm_formats.h"

namespace octet {

/// Recompute's options have an effect, and at least two blocks share the memory of what they make again.
void check_recompute(const RunConfig& c, const Origins& at) {
  const RecomputeConfig& r = c.recompute;
  const std::string listed = r.keep.empty() ? "" : in_quotes(r.keep.front());
  if (r.mode != RecomputeMode::selective) {
    const std::string why = fmt::format("has no effect with recompute.mode = {}; expected mode selective", r.mode);
    if (r.preset != RecomputePreset::none) throw refuse(at, "recompute.preset", r.preset, "{}", why);
    if (!r.keep.empty()) throw refuse(at, "recompute.keep", listed, "{}", why);
  }
  if (r.mode == RecomputeMode::none) {
    if (r.every > 1) throw refuse(at, "recompute.every", r.every, "has no effect with recompute.mode = none");
    return;
  }
  if (r.mode == RecomputeMode::selective && r.preset == RecomputePreset::none && r.keep.empty()) {
    throw refuse(at, "recompute.mode", r.mode, "expected recompute.preset, or in recompute.keep what is kept");
  }
  if (r.preset != RecomputePreset::none && !r.keep.empty()) {
    throw refuse(at, "recompute.keep", listed, "has no effect with recompute.preset = {}; expected one of them",
                 r.preset);
  }
  for (const std::string& name : r.keep) {
    if (value_named<Activation>(name)) continue;
    const auto all = names_of(Activation{});
    const std::vector<std::string> names(all.begin(), all.end());
    throw refuse(at, "recompute.keep", in_quotes(name), "expected names of {}; nearest: {}", joined(names),
                 nearest(name, names));
  }
  RecomputePolicy policy = RecomputePolicy::of(r, c.model.layers);
  const auto casts_for_wo = [](const EqualBlocks& blocks) { return blocks.recipes[wo].float8(); };
  if (std::ranges::none_of(equal_blocks(c.model, c.precision, c.float8), casts_for_wo)) {
    if (policy.kept.has(Activation::attention_cast)) {
      throw refuse(at, "recompute.keep", in_quotes("attention_cast"),
                   "has no effect where attention.wo is not float8: there is no such cast");
    }
    policy.kept.add(Activation::attention_cast);
  }
  if (policy.kept == ActivationSet::all()) {
    throw refuse(at, "recompute.keep", listed, "all activations are kept, so nothing would be recomputed");
  }
  if (policy.blocks_again() > 0) return;
  const std::string why =
      fmt::format("fewer than two of {} blocks would recompute, which saves nothing", policy.layers);
  if (r.every > 1) throw refuse(at, "recompute.every", r.every, "{}; expected at most {}", why, policy.layers / 2);
  throw refuse(at, "recompute.mode", r.mode, "{}", why);
}

}  // namespace octet

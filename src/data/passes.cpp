#include "src/data/passes.h"

#include <fmt/format.h>

#include "src/data/data_stages.h"

namespace octet {

std::vector<SourcePasses> passes_after(const Sampler& sampler, std::int64_t steps) {
  const SamplerConfig& config = sampler.config();
  const std::vector<std::int64_t> taken = sampler.order().turns().taken(steps * config.global_batch);
  std::vector<SourcePasses> out;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    out.push_back({.path = sampler.files()[i].bin_path(),
                   .samples = sampler.order().split(static_cast<std::int32_t>(i)).train(),
                   .asked = taken[i],
                   .seq_len = config.seq_len});
  }
  return out;
}

std::vector<std::string> too_many_passes(const Sampler& sampler, std::int64_t steps, double most) {
  std::vector<std::string> out;
  for (const SourcePasses& source : passes_after(sampler, steps)) {
    if (source.passes() <= most) continue;
    out.push_back(fmt::format(
        "data.train: {}: {} steps ask for {} tokens of it, and {} are there to train on: {:.2f} passes, more "
        "than data.max_passes = {} (docs/problems.md, \"The data are seen many times\")",
        source.path, steps, source.asked * source.seq_len, source.samples * source.seq_len, source.passes(), most));
  }
  return out;
}

std::vector<std::string> without_effect(const Sampler& sampler, std::int64_t steps) {
  std::vector<std::string> out;
  for (const SourcePasses& source : passes_after(sampler, steps)) {
    if (source.asked > 0) continue;
    out.push_back(fmt::format("data.train: {}: by its weights, {} steps read nothing of it", source.path, steps));
  }
  for (const WeightChange& change : sampler.config().changes) {
    if (change.step <= steps) continue;
    out.push_back(
        fmt::format("data.changes: the one from step {} on comes after the last step, {}", change.step, steps));
  }
  return out;
}

std::vector<std::string> changes_begun(const Sampler& sampler, std::int64_t step) {
  const std::vector<DataStage> stages = stages_of(sampler.data());
  const std::vector<std::string> texts = stage_texts(sampler.data());
  std::vector<std::string> out;
  for (std::size_t i = 1; i < stages.size(); ++i) {
    if (stages[i].step == step) out.push_back("data: the mixture changes, " + texts[i - 1]);
  }
  return out;
}

std::vector<std::string> passes_begun(const Sampler& sampler, std::int64_t step) {
  const std::vector<SourcePasses> before = passes_after(sampler, step - 1), after = passes_after(sampler, step);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const SourcePasses& source = after[i];
    // A pass begins with its first sample: as many are begun as whole ones fit before the last sample, and one.
    const auto begun = [&](std::int64_t samples) { return samples == 0 ? 0 : (samples - 1) / source.samples + 1; };
    const std::int64_t old = begun(before[i].asked), now = begun(source.asked);
    for (std::int64_t pass = old + 1; pass <= now; ++pass) {
      if (pass == 1) continue;
      out.push_back(fmt::format("data: pass {} over {} begins in step {} ({} samples of {} tokens a pass)", pass,
                                source.path, step, source.samples, source.seq_len));
    }
  }
  return out;
}

}  // namespace octet

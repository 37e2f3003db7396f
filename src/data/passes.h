#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/data/sampler.h"

namespace octet {

/// How often a run of so many steps comes past the training samples of a source.
struct SourcePasses {
  std::string path;          ///< of the .bin file
  std::int64_t samples = 0;  ///< of one pass
  std::int64_t asked = 0;    ///< by all steps
  std::int64_t seq_len = 0;  ///< tokens of a sample

  double passes() const { return static_cast<double>(asked) / static_cast<double>(samples); }
};

/// Of every source after steps 1 to `steps`, in the order of the configuration.
std::vector<SourcePasses> passes_after(const Sampler& sampler, std::int64_t steps);

/// A text for each source of which a run of so many steps makes more than `most` passes: what is there, what is asked
/// for, and what to do.
std::vector<std::string> too_many_passes(const Sampler& sampler, std::int64_t steps, double most);

/// A text for each source of which a run of so many steps reads nothing, and for each change of the weights that comes
/// after its last step.
std::vector<std::string> without_effect(const Sampler& sampler, std::int64_t steps);

/// A text where the mixture changes with that step.
std::vector<std::string> changes_begun(const Sampler& sampler, std::int64_t step);

/// A text for each pass over a source, but the first, whose first sample is in that step.
std::vector<std::string> passes_begun(const Sampler& sampler, std::int64_t step);

}  // namespace octet

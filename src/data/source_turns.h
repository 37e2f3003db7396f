#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/data/data_stages.h"
#include "src/data/mixture.h"

namespace octet {

/// Which source has its turn at which sample, over all stages of a run: each stage is a mixture of its own, from its
/// first step's first sample on, and a source goes on in it where it stood. A pure function of the sample's index.
class SourceTurns {
 public:
  /// Stages as stages_of makes them, of checked weights. `global_batch`: samples a step.
  SourceTurns(std::int64_t version, std::span<const DataStage> stages, std::int64_t global_batch);

  /// sample >= 0.
  Mixture::Turn turn(std::int64_t sample) const;
  /// How many of samples 0 to `samples` - 1 each source has.
  std::vector<std::int64_t> taken(std::int64_t samples) const;

  std::int64_t sources() const { return static_cast<std::int64_t>(stages_.front().before.size()); }
  /// The largest part of the samples that a source has in any stage.
  double largest_share(std::int32_t source) const;
  /// All that decides the turns: with one stage of version 1 the shares alone.
  std::vector<std::uint64_t> key() const;

 private:
  struct Stage {
    std::int64_t first = 0;             ///< sample
    std::vector<std::int64_t> before;   ///< what each source has had in earlier stages
    std::vector<std::int32_t> sources;  ///< those that are mixed
    std::unique_ptr<const Mixture> mixture;
  };
  const Stage& stage_of(std::int64_t sample) const;
  void add(const DataStage& stage, std::int64_t first);

  std::int64_t version_;
  std::vector<Stage> stages_;
};

}  // namespace octet

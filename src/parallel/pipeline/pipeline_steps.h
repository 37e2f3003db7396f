#pragma once

#include <cstdint>
#include <vector>

#include "src/parallel/pipeline/pipeline_passes.h"

namespace octet {

/// Activations go to the next stage, gradients to the one before. Each direction has a communicator of its own, so that
/// neither waits for the other.
enum class Direction : std::uint8_t { down, up };

/// What a rank does next: a pass, or the beginning of a transfer, which then runs beside the passes.
struct PipelineStep {
  enum class Kind : std::uint8_t { pass, send, receive };
  Kind kind = Kind::pass;
  PipelinePass pass{};  ///< of a send: the one that made it; of a receive: the one that is to use it
  int slot = 0;         ///< the micro-batch's place in the model, from forward to the last of its backward passes
  int peer = -1;        ///< rank in the pipeline; a pass: of the one that sent its input, -1 if nobody did
  int landing = -1;     ///< of a received activation: the buffer from which forward takes it

  Direction direction() const { return pass.kind == PassKind::forward ? Direction::down : Direction::up; }
  bool operator==(const PipelineStep&) const = default;
};

/// All that the ranks of a pipeline do in a step, made alike on every rank.
struct PipelineSteps {
  PipelineShape shape;
  std::vector<std::vector<PipelineStep>> ranks;  ///< [rank][i]

  /// The most that any rank needs, so that all may plan alike.
  int slots() const;
  int slots(int rank) const;
  int landings(int rank) const;
};

/// Adds transfers to passes. Messages of one direction begin in the same order on all ranks, that of the times at which
/// the clock (pipeline_clock.h) has them ready, so that no rank waits for a message whose sender waits for another one.
/// A send follows its pass, a receive comes before the pass during which the message arrives. Slots and landings: the
/// lowest that is free.
PipelineSteps make_steps(const PipelineShape& shape, const PipelinePasses& passes);
inline PipelineSteps make_steps(const PipelineShape& shape) {
  return make_steps(shape, make_passes(shape));
}

}  // namespace octet

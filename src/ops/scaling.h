#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/ops/precision.h"
#include "src/ops/quantize.h"

namespace octet {

enum class CastKind : std::uint8_t { input, weight, gradient };

/// How many fp8 casts a model has of each kind. Their numbers within a kind are the model's and the same on all ranks.
struct CastCounts {
  std::int64_t inputs = 0;
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t total() const { return inputs + weights + gradients; }
};

/// Where the scales of a run's fp8 casts come from, and what is remembered of its abs-maxes. Recipes of one scale a
/// tensor differ in nothing else. The defaults are those of a recipe without memory.
///
/// A training step is: any number of forward and backward passes, each followed by record() of the abs-maxes that it
/// has taken; MAX over all ranks of recorded(), in place; finish_step(), before the weights change. Passes without
/// record() leave no trace.
class Float8Scaling {
 public:
  /// A tensor of the recipe's state, equal on all ranks, and the name under which checkpoints hold it.
  struct State {
    std::string name;
    Tensor tensor;
  };

  virtual ~Float8Scaling() = default;

  /// The scales of this step's casts are there before the values: nothing needs to be measured, exchanged or computed
  /// first. Changes in finish_step(), reset() and state_loaded() alone.
  virtual bool known() const { return false; }
  /// Scale and inverse of an input's or gradient's cast, `arena`'s or the recipe's own. The abs-max is the pass's own.
  virtual QuantScale values(CastKind kind, std::int64_t index, Arena& arena) const = 0;
  /// All three values of weight 0. Those of the other weights follow it, each of the three in a row of its own, inverse
  /// scales inverse_scale_stride floats apart. A recipe without memory returns none: the caller has its own.
  virtual QuantScale weights() const { return {}; }

  /// Takes the abs-maxes in `amax`, which are of casts [first, first + count) of a kind, for the scales of later steps.
  virtual void record(Stream&, const KernelTable&, CastKind, std::int64_t /*first*/, std::int64_t /*count*/,
                      const float* /*amax*/) {}
  /// Device memory.
  virtual std::span<float> recorded() const { return {}; }
  virtual void finish_step(Stream&, const KernelTable&) {}

  /// Sets the state to what it is before the first step.
  virtual void reset(Stream&) {}
  virtual std::vector<State> state() const { return {}; }
  /// To be called after state() was written from a checkpoint. Waits for the stream.
  virtual void state_loaded(Stream&) {}
};

/// Tensorwise dynamic: every cast takes the scale of its own tensor's abs-max. Nothing is remembered.
class DynamicScaling final : public Float8Scaling {
 public:
  QuantScale values(CastKind, std::int64_t, Arena& arena) const override { return QuantScale::allocate(arena); }
};

/// The scaling that is used where none is given.
const Float8Scaling& dynamic_scaling();

}  // namespace octet

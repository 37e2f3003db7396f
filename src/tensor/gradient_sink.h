#pragma once

#include <span>

#include "src/tensor/tensor.h"

namespace octet {

/// The model puts its gradients here. A unit may be opened twice before it is closed (a tied embedding): the second
/// time its targets say accumulate.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// Targets in the order of the unit's parameters, valid until close.
  virtual std::span<const GradientTarget> open(int unit) = 0;
  /// All of the unit's gradients of this micro-batch are there (in stream order): reduce them.
  virtual void close(int unit) = 0;
};

}  // namespace octet

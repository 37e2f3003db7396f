#pragma once

#include "src/ops/context.h"
#include "src/tensor/tensor.h"

namespace octet {

/// The three fp32 values of one tensorwise fp8 cast, on the device.
struct QuantScale {
  float* amax = nullptr;
  float* scale = nullptr;
  float* inverse = nullptr;  ///< on gemm_scale_alignment bytes: GEMMs read it
  bool known = false;        ///< scale and inverse are there before the tensor (src/ops/scaling.h)

  static QuantScale allocate(Arena& arena);
};

/// What a cast reads: a tensor itself, or a norm's output [n, dim] that has no place in memory, formed in the cast of
/// what the norm leaves: the bits that it would store. Of this no statistics are taken.
struct CastSource {
  Tensor x;                            ///< itself, or the norm's sum
  Tensor weight{};                     ///< of the norm, [dim]; of rank 0: x itself is cast
  const float* inverse_rms = nullptr;  ///< of the norm, [n]

  CastSource(const Tensor& tensor) : x(tensor) {}  // NOLINT(google-explicit-constructor): a tensor is its own source
  CastSource(const Tensor& sum, const Tensor& norm_weight, const float* norm_inverse_rms)
      : x(sum), weight(norm_weight), inverse_rms(norm_inverse_rms) {}
};

/// Casts x to `format` with a scale that is known, or else with the tensorwise dynamic one: amax -> MAX over the
/// exchange -> scale -> cast. `scale.amax` holds the local abs-max already (its producer wrote it). `storage` has
/// x.elements() bytes. Returns the fp8 tensor, whose inverse_scale points into `scale`. With `transposed` (as many
/// bytes) the same pass also writes the transposed tensor there. `power_of_two`: how the scale is rounded. `stats`:
/// what no producer has taken of x, the abs-max among it, is taken here; by the pass that casts where the scale is
/// known.
Tensor quantize(OpContext& op, const CastSource& x, DType format, const QuantScale& scale, bool power_of_two,
                void* storage, void* transposed = nullptr, const StatsOut& stats = {});

/// Makes the scale of a cast to `format` known before the tensor is written: of its local abs-max, which is in `scale`
/// as for quantize, and which gives the same scale there.
QuantScale known_by_amax(OpContext& op, QuantScale scale, DType format, bool power_of_two);

/// Casts x with the scale of the abs-max that is in `scale`, whatever that was taken of; nothing is exchanged.
Tensor cast_by_amax(OpContext& op, const CastSource& x, DType format, const QuantScale& scale, bool power_of_two,
                    void* storage, void* transposed = nullptr);

/// Casts x with the scale that is in `scale` already: no abs-max is asked for and none exchanged.
Tensor cast(OpContext& op, const CastSource& x, DType format, const QuantScale& scale, void* storage,
            void* transposed = nullptr, const StatsOut& stats = {});

/// The transposed copy [columns, rows] of an fp8 matrix [rows, columns], with the same inverse scale: in scratch, or in
/// `storage` (as many bytes).
Tensor transpose(OpContext& op, const Tensor& x);
Tensor transpose(OpContext& op, const Tensor& x, void* storage);

/// Abs-max and non-finite count of x in a pass of their own.
void measure(OpContext& op, const Tensor& x, const StatsOut& out);

}  // namespace octet

#pragma once

#include <cstdint>
#include <vector>

#include "src/base/dtype.h"
#include "src/parallel/fsdp_options.h"
#include "src/tensor/parameter.h"

namespace octet {

/// The dtype in which the gradient of a micro-batch is written.
inline DType gradient_dtype(const ParameterSpec& parameter, const FsdpOptions& options) {
  return parameter.one_gemm_gradient ? options.gemm_gradient_dtype : DType::f32;
}

/// The dtypes of this rank's pieces of the gradients, [parameters]: fp32 where several shards are summed, and what is
/// written where there is one.
std::vector<DType> gradient_piece_dtypes(const ParameterList& list, int shards, const FsdpOptions& options);

/// Where the gradients of a unit lie before they are reduced, each whole, as the pieces of all ranks end to end, in a
/// place of a multiple of 256 bytes: a GEMM writes there, and cuBLASLt takes no fp8 product at an odd address
/// (kernels/gemm.h). The fp32 ones come first, so that one pass can round them all. Without an exchange all is zero.
class GradientLayout {
 public:
  GradientLayout(const ParameterList& list, int shards, const FsdpOptions& options);

  DType dtype(std::size_t parameter) const { return places_[parameter].dtype; }
  /// Bytes from the beginning of the unit, and of the place.
  std::int64_t offset(std::size_t parameter) const { return places_[parameter].offset; }
  std::int64_t bytes(std::size_t parameter) const { return places_[parameter].bytes; }
  /// Where the same gradient is in a copy of the unit that is all bf16, in which everything has the same order.
  std::int64_t offset_in_bf16(int unit, std::size_t parameter) const;
  std::int64_t bytes_in_bf16(int unit) const;
  /// The bytes of a unit, and of its fp32 gradients.
  std::int64_t unit_bytes(int unit) const { return units_[static_cast<std::size_t>(unit)].bytes; }
  std::int64_t fp32_bytes(int unit) const { return units_[static_cast<std::size_t>(unit)].fp32; }

 private:
  struct Place {
    DType dtype = DType::f32;
    std::int64_t offset = 0, bytes = 0;
  };
  struct Unit {
    std::int64_t fp32 = 0, bytes = 0;
  };

  std::vector<Place> places_;  ///< [parameters]
  std::vector<Unit> units_;
};

}  // namespace octet

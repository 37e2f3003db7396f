#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoints/format/manifest.h"

namespace octet::checkpoint {

/// How the tensors of that name in checkpoints A and B compare.
struct TensorDifference {
  enum class Kind : std::uint8_t { identical, values, form, only_a, only_b };

  std::string name;
  Kind kind = Kind::identical;  ///< identical: to the bit; form: another dtype or shape, values not compared
  std::int64_t elements = 0;    ///< whose bits differ
  double max_abs = 0;           ///< largest |a - b|; NaN when there is a NaN in one alone
  double norm = 0;              ///< ‖a - b‖₂
  double norm_b = 0;            ///< ‖b‖₂
};

/// All tensors of both, in the order of A and then of B. The files of both were verified. One thread of the process
/// calls it (HDF5). `progress` gets bytes of A.
std::vector<TensorDifference> compare(const std::string& directory_a, const Manifest& a, const std::string& directory_b,
                                      const Manifest& b, const std::function<void(std::int64_t)>& progress = nullptr);

}  // namespace octet::checkpoint

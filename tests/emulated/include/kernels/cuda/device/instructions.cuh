#pragma once

#include <atomic>
#include <cmath>

/// In place of kernels/cuda/device/instructions.cuh. The approximations are right to the last bit here, which is one of
/// the results that PTX allows them.
namespace octet::cuda {

inline float approximate_reciprocal(float b) {
  return 1.0f / b;
}
inline float approximate_inverse_root(float v) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(v)));
}
inline unsigned count_up_to(unsigned* counter, unsigned last) {
  std::atomic_ref<unsigned> shared(*counter);
  unsigned before = shared.load();
  while (!shared.compare_exchange_weak(before, before >= last ? 0 : before + 1)) {
  }
  return before;
}

}  // namespace octet::cuda

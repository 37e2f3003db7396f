#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "src/base/dtype.h"
#include "src/base/round_up.h"
#include "src/device/cuda/check.h"
#include "src/device/device.h"

/// What every launch shares, on the host side.
namespace octet::cuda {

/// The multiprocessors of an H100, by which grids are sized whose blocks stay and go on from piece to piece. Not those
/// of the GPU at hand: how many blocks there are decides the bits of their sums, which are the same on all GPUs.
constexpr int h100_multiprocessors = 132;

/// Blocks of a grid-stride loop: enough for every multiprocessor to have several, and no more than there is work.
constexpr std::int64_t most_blocks = h100_multiprocessors * 8;
inline unsigned blocks_for(std::int64_t work, std::int64_t per_block) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(ceil_div(work, per_block), 1, most_blocks));
}

/// To be called after a launch, so that configuration errors show at once.
inline void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

/// Calls f with a value of the device's storage type, f32 or bf16: where a kernel turns a DType into a C++ type.
template <typename F>
void dispatch_storage(DType dtype, F&& f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::bf16) return f(__nv_bfloat16{});
  throw internal_error("kernels", "dtype {}: expected f32 or bf16", name_of(dtype));
}

/// Says whether 16-byte accesses are possible at all of these addresses and with rows of `bytes`.
template <typename... Pointers>
bool aligned_to_16(std::int64_t bytes, const Pointers*... pointers) {
  return bytes % 16 == 0 && ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

}  // namespace octet::cuda

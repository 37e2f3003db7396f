#include "tests/benchmark/gpu/copy.h"

#include "src/device/cuda/check.h"

namespace octet::bench {
namespace {

constexpr int threads = 256;
constexpr int loads = 4;  // of a thread, all under way before its first store

__global__ void copy_packs(uint4* to, const uint4* from, std::int64_t packs) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (threads * loads) + threadIdx.x;
  uint4 held[loads];
#pragma unroll
  for (int i = 0; i < loads; ++i) {
    if (first + i * threads < packs) held[i] = from[first + i * threads];
  }
#pragma unroll
  for (int i = 0; i < loads; ++i) {
    if (first + i * threads < packs) to[first + i * threads] = held[i];
  }
}

}  // namespace

void copy_by_kernel(void* to, const void* from, std::int64_t bytes, Stream& stream) {
  const std::int64_t packs = bytes / static_cast<std::int64_t>(sizeof(uint4));
  const std::int64_t blocks = (packs + threads * loads - 1) / (threads * loads);
  copy_packs<<<static_cast<unsigned>(blocks), threads, 0, static_cast<cudaStream_t>(stream.native())>>>(
      static_cast<uint4*>(to), static_cast<const uint4*>(from), packs);
  cuda::check(cudaGetLastError(), "launching the copy's kernel");
}

}  // namespace octet::bench

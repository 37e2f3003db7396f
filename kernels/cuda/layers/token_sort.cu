#include "kernels/cuda/layers/token_sort.h"

#include "kernels/cuda/host/launch.h"

namespace octet::cuda {
namespace {

constexpr int digit_bits = 9, bins = 1 << digit_bits;
constexpr int threads = 256, warps = threads / 32;
constexpr int rounds = 8;                // of a warp over its part of a chunk, 32 positions each
constexpr int chunk = threads * rounds;  // positions of a block
constexpr int scan_threads = 1024;

/// One pass: positions from `from` (null: 0, 1, 2, ...) to `to` by one digit of their tokens.
struct Pass {
  const std::int32_t* tokens;
  const std::int32_t* from;
  std::int32_t* to;
  std::int32_t* counts;  // [bins, chunks]: of each digit in each chunk, then where these go
  std::int64_t n;
  TokenRange range;
  unsigned chunks;
  int shift;

  __device__ std::int32_t position(std::int64_t i) const {
    return from == nullptr ? static_cast<std::int32_t>(i) : from[i];
  }
  __device__ int digit(std::int32_t position) const { return (range.row(tokens[position]) >> shift) & (bins - 1); }
};

/// What a thread has of a chunk: the positions `step` apart from `begin` on, and their digits; those beyond the end
/// have digit `bins`. All are read at once: a digit is known after two loads that wait for each other, and one after
/// the other they would take most of a pass.
struct Digits {
  std::int32_t position[rounds];
  int digit[rounds];

  __device__ __forceinline__ Digits(const Pass& pass, std::int64_t begin, int step) {
#pragma unroll
    for (int r = 0; r < rounds; ++r) position[r] = begin + r * step < pass.n ? pass.position(begin + r * step) : -1;
#pragma unroll
    for (int r = 0; r < rounds; ++r) digit[r] = position[r] < 0 ? bins : pass.digit(position[r]);
  }
};

__global__ void __launch_bounds__(threads) count_digits(Pass pass) {
  __shared__ std::int32_t count[bins];
  const Digits own(pass, std::int64_t{blockIdx.x} * chunk + threadIdx.x, threads);
  for (int d = threadIdx.x; d < bins; d += threads) count[d] = 0;
  __syncthreads();
#pragma unroll
  for (const int digit : own.digit) {
    if (digit < bins) atomicAdd(&count[digit], 1);
  }
  __syncthreads();
  for (int d = threadIdx.x; d < bins; d += threads) {
    pass.counts[std::int64_t{d} * pass.chunks + blockIdx.x] = count[d];
  }
}

/// Inclusive over the lanes of a warp.
__device__ __forceinline__ std::int32_t scan_warp(std::int32_t x) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const std::int32_t before = __shfl_up_sync(~0u, x, distance);
    if (lane >= distance) x += before;
  }
  return x;
}

/// counts to the sums of all before them, by one block, four a thread at a time; their number is a multiple of 4.
__global__ void __launch_bounds__(scan_threads) scan_counts(std::int32_t* counts, std::int64_t n) {
  __shared__ std::int32_t warp_sums[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::int32_t before = 0;  // of all earlier rounds
  for (std::int64_t begin = 0; begin < n; begin += scan_threads * 4) {
    const std::int64_t i = begin + threadIdx.x * 4;
    const int4 own = i < n ? *reinterpret_cast<const int4*>(counts + i) : int4{0, 0, 0, 0};
    const std::int32_t sum = own.x + own.y + own.z + own.w;
    const std::int32_t scanned = scan_warp(sum);
    if (lane == 31) warp_sums[warp] = scanned;
    __syncthreads();
    const std::int32_t sums = scan_warp(warp_sums[lane]);  // every warp scans all 32
    const std::int32_t earlier_warps = __shfl_sync(~0u, sums, warp == 0 ? 0 : warp - 1);
    std::int32_t at = before + (warp == 0 ? 0 : earlier_warps) + scanned - sum;
    if (i < n) {
      *reinterpret_cast<int4*>(counts + i) = {at, at + own.x, at + own.x + own.y, at + own.x + own.y + own.z};
    }
    before += __shfl_sync(~0u, sums, 31);
    __syncthreads();  // warp_sums is read
  }
}

/// Each warp takes its part of the chunk in order, so that equal digits stay in the order they had.
__global__ void __launch_bounds__(threads) scatter_positions(Pass pass) {
  __shared__ std::int32_t next[warps][bins];  // counts, then the place of each warp's next position of a digit
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Digits own(pass, std::int64_t{blockIdx.x} * chunk + warp * (32 * rounds) + lane, 32);
  for (int j = threadIdx.x; j < warps * bins; j += threads) next[j / bins][j % bins] = 0;
  __syncthreads();
#pragma unroll
  for (const int digit : own.digit) {
    if (digit < bins) atomicAdd(&next[warp][digit], 1);
  }
  __syncthreads();
  for (int d = threadIdx.x; d < bins; d += threads) {
    std::int32_t place = pass.counts[std::int64_t{d} * pass.chunks + blockIdx.x];
    for (int w = 0; w < warps; ++w) {
      const std::int32_t count = next[w][d];
      next[w][d] = place;
      place += count;
    }
  }
  __syncthreads();
#pragma unroll
  for (int round = 0; round < rounds; ++round) {
    const int digit = own.digit[round];
    const bool inside = digit < bins;
    const unsigned peers = __match_any_sync(~0u, digit);
    const int rank = __popc(peers & ((1u << lane) - 1));
    if (inside) pass.to[next[warp][digit] + rank] = own.position[round];
    __syncwarp();
    if (inside && rank == 0) next[warp][digit] += __popc(peers);
    __syncwarp();
  }
}

std::int64_t chunks_of(std::int64_t n) {
  return ceil_div(n, chunk);
}

}  // namespace

std::int64_t token_sort_workspace(std::int64_t n) {
  return (bins * chunks_of(n) + 2 * n) * static_cast<std::int64_t>(sizeof(std::int32_t));
}

const std::int32_t* sort_tokens(const TokenSort& args, cudaStream_t stream) {
  const std::int64_t chunks = chunks_of(args.n);
  auto* counts = static_cast<std::int32_t*>(args.workspace);
  std::int32_t* positions = counts + bins * chunks;
  Pass pass{.tokens = args.tokens,
            .from = nullptr,
            .to = positions,
            .counts = counts,
            .n = args.n,
            .range = args.range,
            .chunks = static_cast<unsigned>(chunks),
            .shift = 0};
  while (true) {
    count_digits<<<pass.chunks, threads, 0, stream>>>(pass);
    scan_counts<<<1, scan_threads, 0, stream>>>(counts, bins * chunks);
    scatter_positions<<<pass.chunks, threads, 0, stream>>>(pass);
    check_launch("sorting tokens");
    pass.shift += digit_bits;
    if (args.range.count >> pass.shift == 0) return pass.to;
    pass.from = pass.to;
    pass.to = pass.from == positions ? positions + args.n : positions;
  }
}

}  // namespace octet::cuda

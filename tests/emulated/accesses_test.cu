// The checks of each access of a kernel's thread: memory that is not there, and races. Each refusal has its example,
// and beside it the form that is right.
#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/device/instructions.cuh"
#include "kernels/cuda/device/shared_memory.cuh"
#include "tests/emulated/rules.h"

namespace octet::cuda {
namespace {

class EmulatedAccesses : public EmulatedRules {};

__global__ void read_at(const float* x, float* y, int i) {
  if (x[i] > 1e30f) *y = 1;
}
__global__ void write_at(float* x, int i) {
  x[i] = 1;
}
TEST_F(EmulatedAccesses, BeyondAnAllocation) {
  constexpr int last = bytes / 4 - 1;
  read_at<<<1, 1, 0, stream>>>(memory, memory, last);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  read_at<<<1, 1, 0, stream>>>(memory, memory, last + 4);
  EXPECT_TEXT(fault(), "read_at: reads 4 bytes, 12 behind an allocation of 65536 bytes, accesses_test.cu:");
}
TEST_F(EmulatedAccesses, BeforeAnAllocation) {
  write_at<<<1, 1, 0, stream>>>(memory, -1);
  EXPECT_TEXT(fault(), "write_at: writes 4 bytes, ");
}
TEST_F(EmulatedAccesses, OfTheHost) {
  float of_host = 0;
  write_at<<<1, 1, 0, stream>>>(host, 0);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << "pinned memory is the device's too";
  write_at<<<1, 1, 0, stream>>>(&of_host, 0);
  EXPECT_TEXT(fault(), "where the device has no memory");
}
TEST_F(EmulatedAccesses, OfMemoryThatWasFreed) {
  void* other = nullptr;
  cudaMallocFromPoolAsync(&other, 64, nullptr, stream);
  write_at<<<1, 1, 0, stream>>>(static_cast<float*>(other), 15);
  cudaFreeAsync(other, stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  write_at<<<1, 1, 0, stream>>>(static_cast<float*>(other), 15);
  EXPECT_TEXT(fault(), "writes 4 bytes, 60 into an allocation of 64 bytes that has been freed");
}

/// The lanes of a warp rotate their numbers through shared memory, with a barrier of the warp, a shuffle or nothing.
enum class Between { barrier, shuffle, nothing };
template <Between between>
__global__ void rotate(float* x) {
  __shared__ float all[32];
  all[threadIdx.x] = x[threadIdx.x];
  if (between == Between::barrier) __syncwarp();
  if (between == Between::shuffle) __shfl_xor_sync(~0u, 1.0f, 1);
  x[threadIdx.x] = all[(threadIdx.x + 1) % 32];
}
TEST_F(EmulatedAccesses, LanesWithABarrierOfTheirWarpOrWithout) {
  rotate<Between::barrier><<<1, 32, 0, stream>>>(memory);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  rotate<Between::nothing><<<1, 32, 0, stream>>>(memory);
  EXPECT_TEXT(fault(), "a race: ");
}
TEST_F(EmulatedAccesses, AShuffleIsNoBarrier) {
  rotate<Between::shuffle><<<1, 32, 0, stream>>>(memory);
  EXPECT_TEXT(fault(), "a race: ");
}

/// Two halves of a warp, each with a barrier of its own, which says nothing of the other half.
__global__ void rotate_by_halves(float* x, unsigned by) {
  __shared__ float all[32];
  all[threadIdx.x] = 1;
  __syncwarp(threadIdx.x < 16 ? 0xFFFFu : 0xFFFF0000u);
  x[threadIdx.x] = all[threadIdx.x ^ by];
}
TEST_F(EmulatedAccesses, ABarrierOfOtherLanes) {
  rotate_by_halves<<<1, 32, 0, stream>>>(memory, 8);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  rotate_by_halves<<<1, 32, 0, stream>>>(memory, 16);
  EXPECT_TEXT(fault(), "a race: ");
}

/// Neighbours write the bytes of one word, which is no race; the same byte is.
__global__ void write_bytes(unsigned char* x, unsigned apart) {
  __shared__ unsigned char all[64];
  all[threadIdx.x * apart] = 1;
  x[threadIdx.x * apart] = all[threadIdx.x * apart];
}
TEST_F(EmulatedAccesses, BytesOfAWord) {
  write_bytes<<<1, 64, 0, stream>>>(reinterpret_cast<unsigned char*>(memory), 1);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  write_bytes<<<1, 64, 0, stream>>>(reinterpret_cast<unsigned char*>(memory), 0);
  EXPECT_TEXT(fault(), "a race: writes 1 byte");
}

template <bool atomic>
__global__ void add_all(int* sum) {
  if (atomic) {
    atomicAdd(sum, 1);
  } else {
    *sum += 1;
  }
}
TEST_F(EmulatedAccesses, BlocksThatAddToOneNumber) {
  auto* sum = reinterpret_cast<int*>(memory);
  cudaMemsetAsync(sum, 0, 4, stream);
  add_all<true><<<64, 32, 0, stream>>>(sum);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  add_all<false><<<64, 1, 0, stream>>>(sum);
  EXPECT_TEXT(fault(), "a race: ");
}

/// Lanes that add to one number of their block, of which one reads it behind a barrier of the warp, or without.
template <bool waits>
__global__ void add_in_warp(float* x) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncwarp();
  atomicAdd(&n, 1);
  if (waits) __syncwarp();
  if (threadIdx.x == 5) *x = static_cast<float>(n);
}
TEST_F(EmulatedAccesses, LanesThatAddToOneNumber) {
  add_in_warp<true><<<1, 32, 0, stream>>>(memory);
  EXPECT_EQ(values(1)[0], 32);
  add_in_warp<false><<<1, 32, 0, stream>>>(memory);
  EXPECT_TEXT(fault(), "a race: ");
}

/// A block's own barrier says nothing of what other blocks add.
__global__ void add_and_read(int* sum) {
  atomicAdd(sum, 1);
  __syncthreads();
  if (*sum == 0) __trap();
}
TEST_F(EmulatedAccesses, ASumOfBlocksThatEachReads) {
  auto* sum = reinterpret_cast<int*>(memory);
  cudaMemsetAsync(sum, 0, 4, stream);
  add_and_read<<<2, 1, 0, stream>>>(sum);
  EXPECT_TEXT(fault(), "a race: ");
}

/// One of the lanes that read writes, behind a fence, for which nobody waits.
__global__ void read_and_write(float* x) {
  __shared__ float mine;
  if (threadIdx.x == 0) mine = 1;
  __syncwarp();
  x[threadIdx.x] = mine;
  __threadfence();
  if (threadIdx.x == 1) mine = 2;
}
TEST_F(EmulatedAccesses, AFenceIsNoBarrier) {
  read_and_write<<<1, 32, 0, stream>>>(memory);
  EXPECT_TEXT(fault(), "a race: ");
}

/// The block that ends last adds what all have left. Who counts must have its own number behind a fence, and a second
/// fence before it reads those of others; the instruction that Octet counts with is both.
enum class Count { instruction, fences, no_fence, one_fence };
template <Count by>
__global__ void sum_of_blocks(float* numbers, unsigned* ended, float* sum) {
  numbers[blockIdx.x] = 1;
  if (by == Count::fences || by == Count::one_fence) __threadfence();
  const unsigned before = by == Count::instruction ? count_up_to(ended, gridDim.x - 1) : atomicAdd(ended, 1u);
  if (before < gridDim.x - 1) return;
  if (by == Count::fences) __threadfence();
  *sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) *sum += numbers[i];
}
template <Count by>
void sum_blocks(float* numbers, cudaStream_t stream) {
  cudaMemsetAsync(numbers, 0, 1024, stream);
  sum_of_blocks<by><<<64, 1, 0, stream>>>(numbers + 64, reinterpret_cast<unsigned*>(numbers), numbers + 1);
}
TEST_F(EmulatedAccesses, BlocksThatWaitForNobody) {
  sum_blocks<Count::instruction>(memory, stream);
  EXPECT_EQ(values(1, 1)[0], 64);
  sum_blocks<Count::fences>(memory, stream);
  EXPECT_EQ(values(1, 1)[0], 64);
  sum_blocks<Count::no_fence>(memory, stream);
  EXPECT_TEXT(fault(), "of block ");
}
TEST_F(EmulatedAccesses, BlocksWithOneOfTwoFences) {
  sum_blocks<Count::one_fence>(memory, stream);
  EXPECT_TEXT(fault(), "with nothing between them");
}

/// Each block of a cluster reads the other's number, which is written before the first barrier, or again behind it.
__global__ void exchange(float* x, bool too_early, bool too_late) {
  __shared__ float mine;
  mine = 1;
  if (!too_early) cluster_barrier();
  x[blockIdx.x] = *in_block(&mine, 1 - cluster_rank());
  if (too_late) mine = 2;
  cluster_barrier();
}
/// The neighbour reads what a copy brings, for which its thread waits before the barrier or behind it.
__global__ void exchange_copied(float* x, bool waits) {
  __shared__ float mine;
  __pipeline_memcpy_async(&mine, x, sizeof mine);
  __pipeline_commit();
  if (waits) __pipeline_wait_prior(0);
  cluster_barrier();
  x[1 + blockIdx.x] = *in_block(&mine, 1 - cluster_rank());
  cluster_barrier();
}
TEST_F(EmulatedAccesses, ACopyThatANeighbourReads) {
  const ClusterShape pair{.blocks = 2, .threads = 1, .shared = 0};
  cudaMemsetAsync(memory, 0, 64, stream);
  launch_clusters(exchange_copied, pair, 1, stream, memory, true);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  launch_clusters(exchange_copied, pair, 1, stream, memory, false);
  EXPECT_TEXT(fault(), "with no barrier of the cluster between them");
}

/// Two blocks look at the same number, of which one does so as at a volatile.
__global__ void look(float* x) {
  __shared__ float mine;
  mine = 1;
  cluster_barrier();
  const float own = *static_cast<volatile float*>(&mine);
  x[blockIdx.x] = own + *in_block(&mine, 1 - cluster_rank());
  cluster_barrier();
}
TEST_F(EmulatedAccesses, BlocksOfAClusterThatOnlyRead) {
  launch_clusters(look, {.blocks = 2, .threads = 1, .shared = 0}, 64, stream, memory);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST_F(EmulatedAccesses, BlocksOfAClusterWithoutABarrier) {
  const ClusterShape pair{.blocks = 2, .threads = 1, .shared = 0};
  launch_clusters(exchange, pair, 1, stream, memory, false, false);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  launch_clusters(exchange, pair, 64, stream, memory, false, true);
  EXPECT_TEXT(fault(), "with no barrier of the cluster between them");
}

}  // namespace
}  // namespace octet::cuda

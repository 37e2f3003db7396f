// What the emulated device refuses, and what it makes visible: each of these kernels and streams is wrong on a GPU too,
// where it may go well for years.
#include "tests/emulated/rules.h"

#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/device/shared_memory.cuh"

namespace octet::cuda {
namespace {

using emulated::accesses_are_checked, emulated::Device, emulated::look_for_stream_races, emulated::Order;

__global__ void wait_apart() {
  if (threadIdx.x == 0) __syncwarp(3u);
  if (threadIdx.x == 1) __syncthreads();
}
TEST_F(EmulatedRules, ABlockThatHangs) {
  wait_apart<<<1, 2, 0, stream>>>();
  EXPECT_TEXT(fault(),
              "wait_apart: the block hangs: 0 of 2 threads have ended, 2 wait (thread 0 at __syncwarp, thread 1 "
              "at __syncthreads)");
}

__global__ void shuffles_beside_its_mask() {
  __shfl_sync(0xFFFFu, 1.0f, 0);
}
TEST_F(EmulatedRules, ALaneThatIsNotOfItsMask) {
  shuffles_beside_its_mask<<<1, 32, 0, stream>>>();
  EXPECT_TEXT(fault(), "is not of its mask 0xffff");
}

__global__ void reads_a_lane_that_is_not_there() {
  if (threadIdx.x < 16) __shfl_sync(0xFFFFu, 1.0f, 16);
}
TEST_F(EmulatedRules, AValueOfALaneThatIsNotThere) {
  reads_a_lane_that_is_not_there<<<1, 32, 0, stream>>>();
  EXPECT_TEXT(fault(), "reads a lane that is not of the mask");
}

__global__ void traps() {
  __trap();
}
TEST_F(EmulatedRules, ATrap) {
  traps<<<1, 1, 0, stream>>>();
  EXPECT_TEXT(fault(), "traps: __trap (block 0, thread 0)");
}

/// Reversed through shared memory, with a barrier or without.
template <bool waits>
__global__ void reverse(float* x) {
  __shared__ float all[128];
  all[threadIdx.x] = x[threadIdx.x];
  if (waits) __syncthreads();
  x[threadIdx.x] = all[127 - threadIdx.x];
}
__global__ void count(float* x) {
  x[threadIdx.x] = static_cast<float>(threadIdx.x);
}
TEST_F(EmulatedRules, AMissingBarrierShows) {
  std::vector<float> reversed(128);
  for (int i = 0; i < 128; ++i) reversed[static_cast<std::size_t>(i)] = static_cast<float>(127 - i);
  count<<<1, 128, 0, stream>>>(memory);
  reverse<true><<<1, 128, 0, stream>>>(memory);
  EXPECT_EQ(values(128), reversed);
  count<<<1, 128, 0, stream>>>(memory);
  reverse<false><<<1, 128, 0, stream>>>(memory);
  if (accesses_are_checked) {
    EXPECT_TEXT(fault(), "reverse<false>: a race: ");
  } else {
    EXPECT_NE(values(128), reversed);
  }
}

/// Each of 64 blocks brings its four numbers, and then the next's in their place.
template <bool waits, bool in_time>
__global__ void copies(const float* x, float* y) {
  float* shared = dynamic_shared<float>();
  const auto bring = [&](unsigned which) {
    copy_async(shared, x + 4 * which);
    commit_copies();
  };
  bring(blockIdx.x);
  if (waits) wait_for_copies<0>();
  if (!in_time) bring(blockIdx.x + 1);
  y[blockIdx.x] = shared[0];
  if (in_time) bring(blockIdx.x + 1);
  wait_for_copies<0>();
}
/// How many of the 64 blocks have their own first number.
int first_of_four(const std::vector<float>& found) {
  int right = 0;
  for (std::size_t i = 0; i < found.size(); ++i) right += found[i] == static_cast<float>(4 * i) ? 1 : 0;
  return right;
}
TEST_F(EmulatedRules, ACopyThatNobodyWaitedFor) {
  count<<<1, 512, 0, stream>>>(memory);
  copies<true, true><<<64, 1, 16, stream>>>(memory, memory + 1024);
  EXPECT_EQ(first_of_four(values(64, 1024)), 64);
  copies<false, true><<<64, 1, 16, stream>>>(memory, memory + 1024);
  if (accesses_are_checked) {
    EXPECT_TEXT(fault(),
                "a race: reads 4 bytes, 0 into the block's 16 of dynamic shared memory, which thread 0 copies "
                "to and has not waited for");
  } else {
    EXPECT_LT(first_of_four(values(64, 1024)), 64);
  }
}
TEST_F(EmulatedRules, ACopyThatCameTooEarly) {
  count<<<1, 512, 0, stream>>>(memory);
  copies<true, false><<<64, 1, 16, stream>>>(memory, memory + 1024);
  if (accesses_are_checked) {
    EXPECT_TEXT(fault(), "has not waited for");
  } else {
    EXPECT_LT(first_of_four(values(64, 1024)), 64);
  }
}

__global__ void reads_shared_memory(float* x) {
  x[threadIdx.x] = dynamic_shared<float>()[threadIdx.x];
}
TEST_F(EmulatedRules, SharedMemoryThatNobodyWroteIsNoNumber) {
  reads_shared_memory<<<1, 32, 128, stream>>>(memory);
  for (const float x : values(32)) EXPECT_TRUE(std::isnan(x));
}

__global__ void reads_its_variable(float* x) {
  __shared__ float mine;
  x[blockIdx.x] = mine;
  mine = 1;
}
TEST_F(EmulatedRules, ASharedVariableThatNobodyWroteIsNoNumberInSomeBlocks) {
  reads_its_variable<<<512, 1, 0, stream>>>(memory);
  int not_numbers = 0;
  for (const float x : values(512)) not_numbers += std::isnan(x) ? 1 : 0;
  EXPECT_GT(not_numbers, 8);
}

__global__ void writes_shared_memory() {
  dynamic_shared<float>()[threadIdx.x] = 1;
}
TEST_F(EmulatedRules, ABlockThatUsesMoreThanItAskedFor) {
  writes_shared_memory<<<1, 32, 124, stream>>>();
  EXPECT_TEXT(fault(), accesses_are_checked
                           ? "writes_shared_memory: writes 4 bytes, 0 behind the block's 124 of dynamic shared memory"
                           : "writes_shared_memory: a block wrote behind its 124 bytes of dynamic shared memory");
}

TEST_F(EmulatedRules, LaunchesThatCudaRefuses) {
  traps<<<1, 1025, 0, stream>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  traps<<<0, 1, 0, stream>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  reads_shared_memory<<<1, 1, 48 * 1024 + 1, stream>>>(memory);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue) << "nobody asked for more than 48 KiB";
  EXPECT_EQ(cudaFuncSetAttribute(reads_shared_memory, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024),
            cudaErrorInvalidValue);
  traps<<<0x8000'0000u, 1, 0, stream>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

/// As of compute capability 8.6 and 8.9, whose blocks have 99 KiB.
TEST_F(EmulatedRules, ADeviceWithLessSharedMemory) {
  const auto allow = [](int bytes) {
    return cudaFuncSetAttribute(reads_shared_memory, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  };
  EXPECT_EQ(allow(101376 + 1), cudaSuccess);
  setenv("OCTET_EMULATED_SHARED", "101376", 1);
  EXPECT_EQ(most_shared_memory(), 101376);
  reads_shared_memory<<<1, 1, 101376 + 1, stream>>>(memory);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(allow(101376 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(allow(101376), cudaSuccess);
  unsetenv("OCTET_EMULATED_SHARED");
  EXPECT_EQ(most_shared_memory(), 227 * 1024);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

/// The second block's number, read by the first; without the second barrier it may have ended before.
__global__ void neighbours(float* x) {
  __shared__ float mine;
  mine = static_cast<float>(blockIdx.x);
  cluster_barrier();
  if (cluster_rank() == 0) x[0] = *in_block(&mine, 1);
  cluster_barrier();
}
TEST_F(EmulatedRules, BlocksOfAClusterReadEachOthersMemory) {
  launch_clusters(neighbours, {.blocks = 2, .threads = 1, .shared = 0}, 1, stream, memory);
  EXPECT_EQ(values(1), std::vector<float>{1});
  launch_clusters(neighbours, {.blocks = 9, .threads = 1, .shared = 0}, 1, stream, memory);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidClusterSize) << "nobody asked for more than eight";
}

__global__ void outside_a_cluster() {
  cluster_barrier();
}
TEST_F(EmulatedRules, ABarrierOfNoCluster) {
  outside_a_cluster<<<1, 1, 0, stream>>>();
  EXPECT_TEXT(fault(), "a barrier of a cluster in a launch without clusters");
}

TEST_F(EmulatedRules, AStreamThatDoesNotWaitReadsWhatWasThereBefore) {
  look_for_stream_races(false);
  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr;
  cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, 0);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  count<<<1, 128, 0, other>>>(memory);
  EXPECT_TRUE(std::isnan(values(2)[1])) << "what `other` writes is not waited for";
  cudaEventRecord(event, other);
  cudaStreamWaitEvent(stream, event, 0);
  EXPECT_EQ(values(2)[1], 1);
  cudaEventDestroy(event);
  cudaStreamDestroy(other);
}

TEST_F(EmulatedRules, AnEarlyStreamOverwritesWhatNobodyKeepsItFrom) {
  look_for_stream_races(false);
  Device::get().order = Order::early;
  cudaStream_t other = nullptr;
  cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, 0);
  count<<<1, 128, 0, stream>>>(memory);
  EXPECT_EQ(values(2)[1], 1);
  cudaMemcpyAsync(memory + 1024, memory, 4096, cudaMemcpyDeviceToDevice, stream);  // late
  cudaMemsetAsync(memory, 0, 4096, other);
  cudaStreamSynchronize(other);
  EXPECT_EQ(values(2, 1024)[1], 0) << "it did not wait for the copy";
  cudaStreamDestroy(other);
}

TEST_F(EmulatedRules, WhatACaptureForbids) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  count<<<1, 128, 0, stream>>>(memory);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_TRUE(std::isnan(values(1)[0])) << "what was captured was not done";
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 16), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
}

TEST_F(EmulatedRules, ACopyWhoseDirectionIsAnother) {
  EXPECT_EQ(cudaMemcpyAsync(host, memory, 4, cudaMemcpyHostToDevice, stream), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(host, memory + 1, bytes, cudaMemcpyDeviceToHost, stream), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace octet::cuda

// The check of what streams do to each other: work that reaches the same bytes with no order. Each refusal has its
// example, and beside it the form that is right.
#include "tests/emulated/rules.h"

namespace octet::cuda {
namespace {

__global__ void read_at(const float* x, float* y, int i) {
  if (x[i] > 1e30f) *y = 1;
}
__global__ void write_at(float* x, int i) {
  x[i] = 1;
}

/// Two streams, of which the second may wait for an event of the first.
class EmulatedStreamRaces : public EmulatedRules {
 protected:
  void SetUp() override {
    EmulatedRules::SetUp();
    cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, 0);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  }
  void TearDown() override {
    EmulatedRules::TearDown();
    cudaStreamDestroy(other);
    cudaEventDestroy(event);
  }
  /// What `other` is given from now on is behind what `stream` was given until now.
  void order() {
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(other, event, 0);
  }
  cudaError_t all_done() {
    cudaStreamSynchronize(stream);
    return cudaStreamSynchronize(other);
  }
  std::string fault_of_both() {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(all_done(), cudaErrorLaunchFailure);
    return ::testing::internal::GetCapturedStderr();
  }

  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr;
};

TEST_F(EmulatedStreamRaces, WhatAnotherStreamHasWritten) {
  write_at<<<1, 1, 0, stream>>>(memory, 7);
  order();
  read_at<<<1, 1, 0, other>>>(memory, memory + 64, 7);
  EXPECT_EQ(all_done(), cudaSuccess);
  write_at<<<1, 1, 0, stream>>>(memory, 7);
  read_at<<<1, 1, 0, other>>>(memory, memory + 64, 8);
  EXPECT_EQ(all_done(), cudaSuccess) << "a neighbour's bytes";
  write_at<<<1, 1, 0, stream>>>(memory, 7);
  read_at<<<1, 1, 0, other>>>(memory, memory + 64, 7);
  const std::string text = fault_of_both();
  EXPECT_TEXT(text, "a race of streams: read_at (stream ");
  EXPECT_TEXT(text, ") reads 4 bytes, 28 into an allocation of 65536 bytes, which write_at (stream ");
}
TEST_F(EmulatedStreamRaces, WhatAnotherStreamStillReads) {
  read_at<<<1, 1, 0, stream>>>(memory, memory + 64, 7);
  read_at<<<1, 1, 0, other>>>(memory, memory + 128, 7);
  EXPECT_EQ(all_done(), cudaSuccess) << "both read";
  read_at<<<1, 1, 0, stream>>>(memory, memory + 64, 7);
  read_at<<<1, 1, 0, other>>>(memory, memory + 128, 7);
  write_at<<<1, 1, 0, other>>>(memory, 7);  // behind one of them
  EXPECT_TEXT(fault_of_both(), "write_at (stream ");
}
TEST_F(EmulatedStreamRaces, WhatTheHostHasWaitedFor) {
  write_at<<<1, 1, 0, stream>>>(memory, 7);
  cudaEventRecord(event, stream);
  cudaEventSynchronize(event);
  write_at<<<1, 1, 0, other>>>(memory, 7);
  EXPECT_EQ(all_done(), cudaSuccess);
  write_at<<<1, 1, 0, stream>>>(memory, 7);
  cudaEventRecord(event, stream);
  write_at<<<1, 1, 0, stream>>>(memory, 7);
  cudaEventSynchronize(event);  // of the first alone
  write_at<<<1, 1, 0, other>>>(memory, 7);
  EXPECT_TEXT(fault_of_both(), "a race of streams: write_at");
}
TEST_F(EmulatedStreamRaces, ThroughAThirdStream) {
  cudaStream_t third = nullptr;
  cudaStreamCreateWithPriority(&third, cudaStreamNonBlocking, 0);
  write_at<<<1, 1, 0, stream>>>(memory, 7);
  order();
  cudaEventRecord(event, other);
  cudaStreamWaitEvent(third, event, 0);
  write_at<<<1, 1, 0, third>>>(memory, 7);
  EXPECT_EQ(all_done(), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(third), cudaSuccess);
  cudaStreamDestroy(third);
}
TEST_F(EmulatedStreamRaces, CopiesAndMemoryThatIsFreed) {
  cudaMemcpyAsync(memory, host, 64, cudaMemcpyHostToDevice, stream);
  order();
  cudaMemsetAsync(memory, 0, 64, other);
  EXPECT_EQ(all_done(), cudaSuccess);
  void* freed = nullptr;
  cudaMallocFromPoolAsync(&freed, 64, nullptr, stream);
  order();
  read_at<<<1, 1, 0, other>>>(static_cast<float*>(freed), memory, 3);
  cudaStreamSynchronize(other);
  read_at<<<1, 1, 0, other>>>(static_cast<float*>(freed), memory, 3);
  cudaMemcpyAsync(memory + 64, host, 64, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(host, memory + 79, 4, cudaMemcpyDeviceToHost, other);
  EXPECT_TEXT(fault_of_both(), "a race of streams: cudaMemcpyAsync");
}
TEST_F(EmulatedStreamRaces, MemoryThatIsFreedWhileAnotherStreamReads) {
  void* freed = nullptr;
  cudaMallocFromPoolAsync(&freed, 64, nullptr, stream);
  order();
  read_at<<<1, 1, 0, other>>>(static_cast<float*>(freed), memory, 3);
  cudaFreeAsync(freed, stream);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
  EXPECT_TEXT(::testing::internal::GetCapturedStderr(), "cudaFreeAsync");
}

/// A graph of two branches, of which the second waits for the first or does not.
TEST_F(EmulatedStreamRaces, BranchesOfAGraph) {
  const auto capture = [&](bool joins) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    order();
    write_at<<<1, 1, 0, stream>>>(memory, 7);
    if (joins) order();
    write_at<<<1, 1, 0, other>>>(memory, 7);
    cudaEventRecord(event, other);
    cudaStreamWaitEvent(stream, event, 0);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    return executable;
  };
  cudaGraphExec_t ordered = capture(true), branches = capture(false);
  write_at<<<1, 1, 0, stream>>>(memory, 7);
  cudaGraphLaunch(ordered, stream);
  cudaGraphLaunch(ordered, stream);
  write_at<<<1, 1, 0, stream>>>(memory, 7);
  EXPECT_EQ(all_done(), cudaSuccess);
  cudaGraphLaunch(branches, stream);
  EXPECT_TEXT(fault_of_both(), "a race of streams: write_at");
  cudaGraphExecDestroy(ordered);
  cudaGraphExecDestroy(branches);
}
TEST_F(EmulatedStreamRaces, WhatAGraphHasWritten) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  write_at<<<1, 1, 0, stream>>>(memory, 7);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, stream);
  order();
  read_at<<<1, 1, 0, other>>>(memory, memory + 64, 7);
  EXPECT_EQ(all_done(), cudaSuccess);
  cudaGraphLaunch(executable, stream);
  read_at<<<1, 1, 0, other>>>(memory, memory + 64, 7);
  EXPECT_TEXT(fault_of_both(), "a race of streams: ");
  cudaGraphDestroy(graph);
  cudaGraphExecDestroy(executable);
}

}  // namespace
}  // namespace octet::cuda

#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "src/device/device.h"

namespace octet::cuda {

/// The functions of CUDA's run time that make a graph of what a stream is given. The default is CUDA's own; without a
/// GPU a test has others.
struct GraphApi {
  cudaError_t (*begin)(cudaStream_t) = [](cudaStream_t stream) {
    // Calls that a capture forbids are those of this thread alone: a checkpoint's may go on.
    return cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  };
  cudaError_t (*end)(cudaStream_t, cudaGraph_t*) = cudaStreamEndCapture;
  cudaError_t (*instantiate)(cudaGraphExec_t*, cudaGraph_t) = [](cudaGraphExec_t* executable, cudaGraph_t graph) {
    return cudaGraphInstantiate(executable, graph, 0);
  };
  cudaError_t (*upload)(cudaGraphExec_t, cudaStream_t) = cudaGraphUpload;
  cudaError_t (*launch)(cudaGraphExec_t, cudaStream_t) = cudaGraphLaunch;
  cudaError_t (*wait)() = cudaDeviceSynchronize;
  cudaError_t (*destroy)(cudaGraph_t) = cudaGraphDestroy;
  cudaError_t (*destroy_executable)(cudaGraphExec_t) = cudaGraphExecDestroy;
  cudaError_t (*forget_error)() = cudaGetLastError;
};

/// Captures what `work` gives to `stream`, and to no other stream, as a graph, without running it. The graph is
/// uploaded to the device in the order of the stream, so that its first launch costs no more than the others. Throws
/// Error, and leaves the stream as it was, where `work` throws or calls what a capture forbids
/// (https://docs.nvidia.com/cuda/cuda-programming-guide/, "Prohibited and Unhandled Operations" of stream capture).
std::unique_ptr<Graph> make_graph(Stream& stream, const std::function<void()>& work, const GraphApi& api = {});

}  // namespace octet::cuda

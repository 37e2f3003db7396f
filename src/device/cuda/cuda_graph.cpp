#include "src/device/cuda/cuda_graph.h"

#include <exception>

#include "src/base/heartbeat.h"
#include "src/device/cuda/check.h"

namespace octet::cuda {
namespace {

class CudaGraph final : public Graph {
 public:
  CudaGraph(const GraphApi& api, cudaGraphExec_t executable) : api_(api), executable_(executable) {}
  ~CudaGraph() override {
    if (std::uncaught_exceptions() > 0) return;  // the process ends, and a wait for a device that hangs would not
    api_.wait();                                 // CUDA does not say that a graph may be destroyed while it runs
    api_.destroy_executable(executable_);
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void launch(Stream& stream) override {
    heartbeat::begin("launch of a graph");
    check(api_.launch(executable_, native(stream)), "launching a graph");
  }

 private:
  GraphApi api_;
  cudaGraphExec_t executable_;
};

/// The end of a capture, also where what was captured threw.
class Capture {
 public:
  Capture(const GraphApi& api, cudaStream_t stream) : api_(api), stream_(stream) {
    check(api_.begin(stream_), "beginning the capture of a graph");
  }
  ~Capture() {
    if (!ended_) api_.end(stream_, &graph_);
    if (graph_ != nullptr) api_.destroy(graph_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cudaGraphExec_t instantiate() {
    ended_ = true;
    check(api_.end(stream_, &graph_), "ending the capture of a graph");
    cudaGraphExec_t executable = nullptr;
    check(api_.instantiate(&executable, graph_), "making a graph executable");
    return executable;
  }

 private:
  const GraphApi& api_;
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  bool ended_ = false;
};

cudaGraphExec_t captured(const GraphApi& api, Stream& stream, const std::function<void()>& work) {
  Capture capture(api, native(stream));
  work();
  return capture.instantiate();
}

void upload(const GraphApi& api, cudaGraphExec_t executable, Stream& stream) {
  const cudaError_t status = api.upload(executable, native(stream));
  if (status != cudaSuccess) api.destroy_executable(executable);
  check(status, "uploading a graph");
}

}  // namespace

std::unique_ptr<Graph> make_graph(Stream& stream, const std::function<void()>& work, const GraphApi& api) {
  heartbeat::begin("capture of a graph");
  try {
    cudaGraphExec_t executable = captured(api, stream, work);
    upload(api, executable, stream);
    return std::make_unique<CudaGraph>(api, executable);
  } catch (...) {
    api.forget_error();  // or the next launch would report it
    throw;
  }
}

}  // namespace octet::cuda

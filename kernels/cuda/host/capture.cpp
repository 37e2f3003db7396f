#include "kernels/cuda/host/capture.h"

#include "kernels/cuda/host/launch.h"

namespace octet::cuda {

bool is_capturing(Stream& stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(native(stream), &status), "whether a stream is being captured");
  return status != cudaStreamCaptureStatusNone;
}

void refuse_capture(Stream& stream, const char* what) {
  if (!is_capturing(stream)) return;
  throw internal_error("kernels", "{} during the capture of a CUDA graph: run the same once before", what);
}

}  // namespace octet::cuda

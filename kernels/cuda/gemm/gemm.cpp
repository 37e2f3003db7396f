#include "kernels/gemm.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gemm/gemm_library.h"

namespace octet::cuda {

std::int64_t gemm_workspace(const Gemm& args) {
  return args.m == 0 || args.n == 0 || args.k == 0 ? 0 : workspace_bytes_of(args);
}

void gemm(Stream& stream, const Gemm& args) {
  if (args.m == 0 || args.n == 0) return;
  if (args.k == 0) {  // a sum of nothing
    if (args.beta == 0.0f) stream.device().zero(args.c, args.m * args.n * size_of(args.c_dtype), stream);
    return;
  }
  check_gemm(args);
  GemmLibrary::of(stream).multiply(stream, args);
}

}  // namespace octet::cuda

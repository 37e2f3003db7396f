#include "kernels/cross_entropy.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/logit_rows.cuh"

namespace octet::cuda {
namespace {

using namespace logit_rows;

/// One block a row.
template <int V, typename T>
__global__ void __launch_bounds__(most_threads) cross_entropy_rows(CrossEntropy args) {
  const std::int64_t row = blockIdx.x;
  const float* x = args.logits + row * args.vocab;
  T* d = args.d_logits == nullptr ? nullptr : static_cast<T*>(args.d_logits) + row * args.vocab;
  const std::int32_t target = args.targets[row];
  if (target < 0) return write_zeros<V>(args.losses + row, d, args.vocab);  // the whole block
  const float at_target = x[target];  // before d overwrites it, which is after the barrier in sum_row
  const OnlineSum softmax = sum_row<V>(x, args.vocab);
  if (threadIdx.x == 0) args.losses[row] = loss_of(softmax, static_cast<double>(at_target));
  if (d != nullptr) write_gradient<V>(x, d, args.vocab, softmax, target, args.scale);
}

template <typename T>
void launch(const CrossEntropy& args, cudaStream_t stream) {
  const unsigned threads = threads_for(args.vocab);
  // 16-byte reads; the gradient's stores are as aligned as it is.
  if (aligned_to_16(args.vocab * 4, args.logits, args.d_logits)) {
    cross_entropy_rows<4, T><<<static_cast<unsigned>(args.rows), threads, 0, stream>>>(args);
  } else {
    cross_entropy_rows<1, T><<<static_cast<unsigned>(args.rows), threads, 0, stream>>>(args);
  }
  check_launch("cross_entropy");
}

}  // namespace

/// Must move rows · vocab · 4 bytes for the losses, and for the gradient as many again and
/// rows · vocab · sizeof(d_dtype); part of the second read comes from the L2 cache.
void cross_entropy(Stream& stream, const CrossEntropy& args) {
  if (args.rows == 0) return;
  dispatch_storage(args.d_dtype, [&]<typename T>(T) { launch<T>(args, native(stream)); });
}

}  // namespace octet::cuda

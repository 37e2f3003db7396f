#include "kernels/cross_entropy.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/host/launch.h"
#include "kernels/cuda/layers/logit_rows.cuh"

namespace octet::cuda {
namespace {

using namespace logit_rows;

/// One block a row.
template <int V>
__global__ void __launch_bounds__(most_threads) stats_rows(CrossEntropyStats args) {
  const std::int64_t row = blockIdx.x;
  const float* x = args.logits + row * args.vocab;
  const std::int32_t target = args.targets[row];
  OnlineSum softmax{.max = 0.0f, .sum = 0.0f};
  if (target >= 0) softmax = sum_row<V>(x, args.vocab);  // the whole block
  if (threadIdx.x != 0) return;
  const std::int64_t column = target - args.vocab_begin;
  const bool held = target >= 0 && column >= 0 && column < args.vocab;
  args.stats[row] = softmax.max;
  args.stats[args.rows + row] = softmax.sum;
  args.stats[2 * args.rows + row] = held ? x[column] : 0.0f;
}

/// One block a row.
template <int V, typename T>
__global__ void __launch_bounds__(most_threads) finish_rows(CrossEntropyFinish args) {
  const std::int64_t row = blockIdx.x;
  T* d = args.d_logits == nullptr ? nullptr : static_cast<T*>(args.d_logits) + row * args.vocab;
  const std::int32_t target = args.targets[row];
  if (target < 0) return write_zeros<V>(args.losses + row, d, args.vocab);
  const float* stats = args.stats + row;
  const OnlineSum softmax = join(stats, args.parts, args.rows);  // by each thread for itself
  if (threadIdx.x == 0) {
    args.losses[row] = loss_of(softmax, target_logit(stats, args.parts, args.rows));
  }
  if (d == nullptr) return;
  write_gradient<V>(args.logits + row * args.vocab, d, args.vocab, softmax, target - args.vocab_begin, args.scale);
}

template <typename T>
void launch(const CrossEntropyFinish& args, cudaStream_t stream) {
  const unsigned threads = args.d_logits == nullptr ? 32 : threads_for(args.vocab);
  if (aligned_to_16(args.vocab * 4, args.logits, args.d_logits)) {
    finish_rows<4, T><<<static_cast<unsigned>(args.rows), threads, 0, stream>>>(args);
  } else {
    finish_rows<1, T><<<static_cast<unsigned>(args.rows), threads, 0, stream>>>(args);
  }
  check_launch("cross_entropy_finish");
}

}  // namespace

/// Must move rows · vocab · 4 bytes.
void cross_entropy_stats(Stream& stream, const CrossEntropyStats& args) {
  if (args.rows == 0) return;
  const auto rows = static_cast<unsigned>(args.rows), threads = threads_for(args.vocab);
  if (aligned_to_16(args.vocab * 4, args.logits)) {
    stats_rows<4><<<rows, threads, 0, native(stream)>>>(args);
  } else {
    stats_rows<1><<<rows, threads, 0, native(stream)>>>(args);
  }
  check_launch("cross_entropy_stats");
}

/// Must move rows · vocab · (4 + sizeof(d_dtype)) bytes with the gradient.
void cross_entropy_finish(Stream& stream, const CrossEntropyFinish& args) {
  if (args.rows == 0) return;
  dispatch_storage(args.d_dtype, [&]<typename T>(T) { launch<T>(args, native(stream)); });
}

}  // namespace octet::cuda

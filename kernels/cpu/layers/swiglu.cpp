#include "kernels/swiglu.h"

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/exp.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace {

template <typename T>
void forward_block(const T* gate, const T* up, T* y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = static_cast<float>(gate[i]);
    store(y[i], g / (1.0f + exp_f32(-g)) * static_cast<float>(up[i]));
  }
}

/// With s = sigmoid(gate):  d_up = dy · gate · s;  d_gate = dy · up · s · (1 + gate · (1 - s)).
template <typename T>
void backward_block(const T* gate, const T* up, const T* dy, T* d_gate, T* d_up, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = static_cast<float>(gate[i]), u = static_cast<float>(up[i]), d = static_cast<float>(dy[i]);
    const float s = 1.0f / (1.0f + exp_f32(-g));
    store(d_gate[i], d * u * s * (1.0f + g * (1.0f - s)));
    store(d_up[i], d * g * s);
  }
}

template <typename T>
void forward(const SwigluForward& args) {
  const T* gate = static_cast<const T*>(args.gate);
  const T* up = static_cast<const T*>(args.up);
  const bool stats = args.stats.wanted();
  const auto fold = fold_blocks(args.n, block_elements, [&](std::int64_t begin, std::int64_t end, StatsFold& f) {
    T block[block_elements];
    T* y = args.y == nullptr ? block : static_cast<T*>(args.y) + begin;
    forward_block(gate + begin, up + begin, y, end - begin);
    if (stats) f.add(y, end - begin);
    cast_part(args.float8, y, begin, end - begin);
  });
  fold.publish(args.stats);
}

struct BothFolds {
  StatsFold gate, up;
  void merge(const BothFolds& other) {
    gate.merge(other.gate);
    up.merge(other.up);
  }
};
#pragma omp declare reduction(both:BothFolds : omp_out.merge(omp_in)) initializer(omp_priv = BothFolds{})

template <typename T>
void backward(const SwigluBackward& args) {
  const T* gate = static_cast<const T*>(args.gate);
  const T* up = static_cast<const T*>(args.up);
  const T* dy = static_cast<const T*>(args.dy);
  const bool gate_stats = args.gate_stats.wanted(), up_stats = args.up_stats.wanted();
  const std::int64_t blocks = ceil_div(args.n, block_elements);
  BothFolds folds;
#pragma omp parallel for schedule(static) reduction(both : folds) if (blocks > 1)
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t at = b * block_elements, n = std::min(block_elements, args.n - at);
    T gate_block[block_elements], up_block[block_elements];
    T* d_gate = args.d_gate == nullptr ? gate_block : static_cast<T*>(args.d_gate) + at;
    T* d_up = args.d_up == nullptr ? up_block : static_cast<T*>(args.d_up) + at;
    backward_block(gate + at, up + at, dy + at, d_gate, d_up, n);
    if (gate_stats) folds.gate.add(d_gate, n);
    if (up_stats) folds.up.add(d_up, n);
    cast_part(args.gate_float8, d_gate, at, n);
    cast_part(args.up_float8, d_up, at, n);
  }
  folds.gate.publish(args.gate_stats);
  folds.up.publish(args.up_stats);
}

}  // namespace

void swiglu_forward(Stream& stream, const SwigluForward& args) {
  dispatch_storage(args.dtype, [&]<typename T>(T) { forward<T>(args); });
  transpose_parts(stream, args.float8, args.n, args.columns);
}

void swiglu_backward(Stream& stream, const SwigluBackward& args) {
  dispatch_storage(args.dtype, [&]<typename T>(T) { backward<T>(args); });
  transpose_parts(stream, args.gate_float8, args.n, args.columns);
  transpose_parts(stream, args.up_float8, args.n, args.columns);
}

}  // namespace octet::cpu

#include "kernels/rope.h"

#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace {

/// Rotates the pairs (x[i], x[i + half]) of one head by the angle whose sine has the sign `direction`; y may be x.
template <typename T>
void rotate_head(const T* x, T* y, const float* cos, const float* sin, float direction, std::int64_t half) {
#pragma omp simd
  for (std::int64_t i = 0; i < half; ++i) {
    const float a = static_cast<float>(x[i]), b = static_cast<float>(x[i + half]);
    const float c = cos[i], s = direction * sin[i];
    store(y[i], a * c - b * s);
    store(y[i + half], b * c + a * s);
  }
}

template <typename T>
void rotate(Stream& stream, const Rope& args, const RopeHeads& of) {
  if (of.x == nullptr) return;
  T* x = static_cast<T*>(of.x);
  const std::int64_t half = args.head_dim / 2, row = of.count * args.head_dim;
  const float direction = args.inverse ? -1.0f : 1.0f;
  const bool stats = of.stats.wanted();
  const auto fold = fold_blocks(args.batch * args.seq, 1, [&](std::int64_t token, std::int64_t, StatsFold& f) {
    T* heads = x + token * row;
    thread_local std::vector<T> row_of_thread;
    if (of.float8.wanted()) row_of_thread.resize(static_cast<std::size_t>(row));
    T* turned = of.float8.wanted() ? row_of_thread.data() : heads;
    const std::int64_t begin = args.document_begin == nullptr ? 0 : args.document_begin[token];
    const std::int64_t angle = (token % args.seq - begin) * half;
    for (std::int64_t h = 0; h < of.count; ++h) {
      const std::int64_t head = h * args.head_dim;
      rotate_head(heads + head, turned + head, args.cos + angle, args.sin + angle, direction, half);
    }
    if (stats) f.add(turned, row);
    cast_part(of.float8, turned, token * row, row);
  });
  fold.publish(of.stats);
  transpose_parts(stream, of.float8, args.batch * args.seq * row, row);
}

}  // namespace

void rope(Stream& stream, const Rope& args) {
  dispatch_storage(args.dtype, [&]<typename T>(T) {
    rotate<T>(stream, args, args.q);
    rotate<T>(stream, args, args.k);
  });
}

}  // namespace octet::cpu

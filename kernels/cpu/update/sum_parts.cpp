#include "kernels/sum_parts.h"

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace {

/// A block of one part after the other goes through a sum that stays in the L1 cache.
template <typename In, typename Out>
void sum_block(const SumParts& args, std::int64_t begin, std::int64_t n) {
  float sum[block_elements];
  const In* part = static_cast<const In*>(args.parts) + begin;
  convert_loop(part, sum, n);
  for (int p = 1; p < args.count; ++p) {
    part += args.n;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) sum[i] += static_cast<float>(part[i]);
  }
  Out* out = static_cast<Out*>(args.out) + begin;
  if (args.accumulate) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) sum[i] = static_cast<float>(out[i]) + sum[i];
  }
  convert_loop(sum, out, n);
}

}  // namespace

void sum_parts(Stream&, const SumParts& args) {
  if (args.accumulate && args.out_dtype != DType::f32) {
    throw internal_error("kernels", "sum_parts: accumulating in {}, expected f32", name_of(args.out_dtype));
  }
  dispatch_storage(args.dtype, [&]<typename In>(In) {
    dispatch_storage(args.out_dtype, [&]<typename Out>(Out) {
      for_blocks(args.n, block_elements,
                 [&](std::int64_t begin, std::int64_t end) { sum_block<In, Out>(args, begin, end - begin); });
    });
  });
}

}  // namespace octet::cpu

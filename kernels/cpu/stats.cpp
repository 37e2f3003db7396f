#include "kernels/stats.h"

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/stats_fold.h"
#include "kernels/cpu/vector.h"

namespace octet::cpu {
namespace {

template <typename T>
StatsFold fold_all(const T* x, std::int64_t n) {
  const std::int64_t blocks = (n + element_block - 1) / element_block;
  StatsFold fold;
#pragma omp parallel for schedule(static) reduction(stats : fold) if (blocks > 2)
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t begin = b * element_block;
    fold.add(x + begin, std::min(n - begin, element_block));
  }
  return fold;
}

}  // namespace

void stats(Stream&, const Stats& args) {
  if (!args.out.wanted()) return;
  const StatsFold fold = args.dtype == DType::f32 ? fold_all(static_cast<const float*>(args.x), args.n)
                                                  : fold_all(static_cast<const bf16*>(args.x), args.n);
  fold.publish(args.out);
}

}  // namespace octet::cpu

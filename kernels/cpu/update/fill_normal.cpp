#include "kernels/fill_normal.h"

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/blocks.h"

namespace octet::cpu {

void fill_normal(Stream&, const FillNormal& args) {
  for_blocks(args.n, block_elements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) args.x[i] = normal_value(args, i);
  });
}

}  // namespace octet::cpu

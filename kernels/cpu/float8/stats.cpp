#include "kernels/stats.h"

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/blocks.h"

namespace octet::cpu {

void stats(Stream&, const Stats& args) {
  if (!args.out.wanted()) return;
  dispatch_storage(args.dtype, [&]<typename T>(T) {
    const T* x = static_cast<const T*>(args.x);
    const auto add = [x](std::int64_t begin, std::int64_t end, StatsFold& fold) { fold.add(x + begin, end - begin); };
    fold_blocks(args.n, conversion_block, add, serial_conversion_blocks).publish(args.out);
  });
}

}  // namespace octet::cpu

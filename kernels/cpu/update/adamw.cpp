#include "kernels/adamw.h"

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/vector.h"
#include "kernels/cpu/update/adamw_update.h"

namespace octet::cpu {
namespace {

void update(const AdamWUpdate& args) {
  const bool skips = is_skipped(args), amax = args.stats.amax != nullptr;
  if (skips && !amax && !args.float8.wanted()) return;
  const auto fold = fold_blocks(args.n, block_elements, [&](std::int64_t begin, std::int64_t end, StatsFold& f) {
    if (!skips) {
      update_elements(args, begin, end - begin, args.parameter + begin, args.first_moment + begin,
                      args.second_moment + begin);
      if (args.rounded != nullptr) {
        convert_loop(args.parameter + begin, static_cast<bf16*>(args.rounded) + begin, end - begin);
      }
    }
    cast_part(args.float8, args.parameter + begin, begin, end - begin);
    if (amax) f.add(args.parameter + begin, end - begin);
  });
  fold.publish({.amax = args.stats.amax});
}

}  // namespace

void adamw(Stream&, const AdamWUpdates& args) {
  for (const AdamWUpdate& one : args.all()) update(one);
}

}  // namespace octet::cpu

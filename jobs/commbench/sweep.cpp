#include <algorithm>
#include <numeric>

#include "jobs/commbench/bench_context.h"
#include "src/base/progress.h"

namespace octet::commbench {
namespace {

std::vector<std::int64_t> sizes(const Options& o) {
  std::vector<std::int64_t> out;
  for (std::int64_t bytes = o.min; bytes <= o.max; bytes *= o.factor) out.push_back(bytes);
  return out;
}

Row measure_call(const Context& context, Communicator& world, Communicator* plain, const CommRecord& call) {
  std::vector<int> ranks(static_cast<std::size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  Row row{.part = "sweep",
          .group = world.name(),
          .ranks = world.size(),
          .nodes = context.nodes(ranks),
          .calls = {call},
          .measured = {}};
  row.measured = measure(world, plain, row.calls, context.options.measure, 1, context.hosts);
  return row;
}

}  // namespace

CommRecord sweep_call(const std::string& collective, DType dtype, int ranks, std::int64_t bytes) {
  const bool reduces = collective == "all_reduce" || collective == "reduce_scatter";
  const bool of_all = collective == "all_gather" || collective == "reduce_scatter" || collective == "all_to_all";
  CommRecord call{.operation = collective == "all_reduce" ? "all_reduce_sum" : collective,
                  .group = "world",
                  .ranks = ranks,
                  .dtype = reduces ? DType::f32 : dtype,
                  .unit = {}};
  const std::int64_t each = (of_all ? ranks : 1) * size_of(call.dtype);
  call.count = std::max<std::int64_t>(bytes / each, 1);
  call.bytes = call.count * each;
  return call;
}

void run_sweep(const Context& context, Communicator& world, Communicator* plain) {
  const Options& o = context.options;
  for (const std::string& collective : o.collectives) {
    const CommRecord largest = sweep_call(collective, o.dtype, world.size(), o.max);
    check_memory(context, world.stream().device(), Exercise::bytes({largest}, world.size()),
                 fmt::format("{} of {}", collective, format_bytes(largest.bytes)));
  }
  for (const std::string& collective : o.collectives) {
    context.report.heading(fmt::format("{}, all {} ranks", collective, world.size()), false, plain != nullptr);
    std::int64_t before = 0;
    for (const std::int64_t bytes : sizes(o)) {
      const CommRecord call = sweep_call(collective, o.dtype, world.size(), bytes);
      if (call.bytes == before) continue;  // too small for an element a rank
      before = call.bytes;
      context.progress(fmt::format("sweep: {} of {}", collective, format_bytes(call.bytes)));
      const Row row = measure_call(context, world, plain, call);
      context.progress();
      context.report.add(row);
      if (row.measured.first_us < 1e6 * o.measure.row_seconds || bytes > o.max / o.factor) continue;
      context.report.comment(fmt::format("larger sizes are left out: one took {:.1f} s, --row-seconds is {}",
                                         row.measured.first_us / 1e6, o.measure.row_seconds));
      break;
    }
  }
}

}  // namespace octet::commbench

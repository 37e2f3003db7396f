#include <algorithm>
#include <numeric>

#include "jobs/commbench/bench_context.h"
#include "jobs/commbench/sweep_collectives.h"
#include "src/base/progress.h"

namespace octet::commbench {
namespace {

std::vector<std::int64_t> sizes(const Options& o) {
  std::vector<std::int64_t> out;
  for (std::int64_t bytes = o.min; bytes <= o.max; bytes *= o.factor) out.push_back(bytes);
  return out;
}

Row measure_call(const Context& context, Communicator& world, Communicator* plain, const CommRecord& call, Form form) {
  std::vector<int> ranks(static_cast<std::size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  Row row{.part = "sweep",
          .group = world.name(),
          .ranks = world.size(),
          .nodes = context.nodes(ranks),
          .calls = {call},
          .form = form,
          .device = world.stream().device().type(),
          .measured = {}};
  context.progress(fmt::format("sweep: {} of {}", row.collective(), format_bytes(call.bytes)));
  row.measured = measure(world, plain, row.calls, form, context.options.measure, 1, context.control);
  context.progress();
  return row;
}

/// Calls `each` with the call of every size; it returns the seconds that one took. After one that takes too long larger
/// sizes are left out.
template <typename Each>
void for_sizes(const Context& context, const std::string& collective, int ranks, const Each& each) {
  const Options& o = context.options;
  std::int64_t before = 0;
  for (const std::int64_t bytes : sizes(o)) {
    const CommRecord call = sweep_call(collective, o.dtype, ranks, bytes);
    if (call.bytes == before) continue;  // too small for an element a rank
    before = call.bytes;
    const double seconds = each(call);
    if (seconds < o.measure.row_seconds || bytes > o.max / o.factor) continue;
    context.report.comment(fmt::format("larger sizes are left out: one took {:.1f} s, --row-seconds is {}", seconds,
                                       o.measure.row_seconds));
    break;
  }
}

void sweep_in_columns_of_nccl_tests(const Context& context, Communicator& world, const std::string& collective) {
  const Options& o = context.options;
  Report& report = context.report;
  report.begin_table(collective, {.min = o.min, .max = o.max, .factor = o.factor, .measure = o.measure});
  const DeviceType device = world.stream().device().type();
  const std::string operation = sweep_call(collective, o.dtype, world.size(), o.min).operation;
  for (const Form form : {Form::out_of_place, Form::in_place}) {
    if (!needs_copy(operation, form, device)) continue;
    report.comment(fmt::format("{}: with a copy, which this communicator needs",
                               form == Form::in_place ? "in-place" : "out-of-place"));
  }
  for_sizes(context, collective, world.size(), [&](const CommRecord& call) {
    const Row out_of_place = measure_call(context, world, nullptr, call, Form::out_of_place);
    const Row in_place = measure_call(context, world, nullptr, call, Form::in_place);
    report.add(out_of_place, in_place);
    return std::max(out_of_place.measured.first_us, in_place.measured.first_us) / 1e6;
  });
  report.end_table();
}

void sweep_in_columns_of_ours(const Context& context, Communicator& world, Communicator* plain,
                              const std::string& collective) {
  context.report.heading(fmt::format("{}, all {} ranks", collective, world.size()), false, plain != nullptr);
  for_sizes(context, collective, world.size(), [&](const CommRecord& call) {
    const Row row = measure_call(context, world, plain, call, Form::training);
    context.report.add(row);
    return row.measured.first_us / 1e6;
  });
}

}  // namespace

CommRecord sweep_call(const std::string& collective, DType dtype, int ranks, std::int64_t bytes) {
  const bool of_all = collective == "all_gather" || collective == "reduce_scatter" || collective == "all_to_all";
  CommRecord call{.operation = collective == "all_reduce" ? "all_reduce_sum" : collective,
                  .group = "world",
                  .ranks = ranks,
                  .dtype = is_reduction(collective) ? DType::f32 : dtype,
                  .unit = {}};
  const std::int64_t each = (of_all ? ranks : 1) * size_of(call.dtype);
  call.count = std::max<std::int64_t>(bytes / each, 1);
  // Shares of whole 16 bytes, as nccl-tests have them (AllGatherGetCollByteCount); below that we measure elements,
  // where they measure nothing.
  const std::int64_t share = of_all ? 16 / size_of(call.dtype) : 1;
  if (call.count >= share) call.count -= call.count % share;
  call.bytes = call.count * each;
  return call;
}

void run_sweep(const Context& context, Communicator& world, Communicator* plain) {
  const Options& o = context.options;
  const bool ours = plain != nullptr || o.columns == Columns::octet;
  for (const std::string& collective : o.collectives) {
    const CommRecord largest = sweep_call(collective, o.dtype, world.size(), o.max);
    std::int64_t bytes = 0;
    for (const Form form : {Form::training, Form::out_of_place, Form::in_place}) {
      if ((form == Form::training) != ours) continue;
      bytes = std::max(bytes, Exercise::bytes({largest}, world.size(), form));
    }
    check_memory(context, world.stream().device(), bytes,
                 fmt::format("{} of {}", collective, format_bytes(largest.bytes)));
  }
  if (o.dtype != DType::f32 && std::ranges::any_of(o.collectives, is_reduction)) {
    context.report.comment(fmt::format("--dtype {}: of what does not reduce; reductions are of float, as in training",
                                       type_name(o.dtype)));
  }
  for (const std::string& collective : o.collectives) {
    if (ours) {
      sweep_in_columns_of_ours(context, world, plain, collective);
    } else {
      sweep_in_columns_of_nccl_tests(context, world, collective);
    }
  }
}

}  // namespace octet::commbench

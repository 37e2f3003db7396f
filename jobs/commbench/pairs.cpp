#include <algorithm>
#include <limits>

#include "jobs/commbench/bench_context.h"
#include "jobs/commbench/match.h"
#include "jobs/commbench/pairs_report.h"
#include "src/train/start/reporting_failure.h"
#include "src/tuning/pairs/pair_sweeps.h"

namespace octet::commbench {
namespace {

/// The rank that meets this one in that round; -1: none.
int peer_of(int rank, const PairRound& round, const Teams& teams) {
  for (const auto& [a, b] : round) {
    for (std::size_t k = 0; k < teams.members(a).size(); ++k) {
      const int left = teams.members(a)[k], right = teams.members(b)[k];
      if (rank == left) return right;
      if (rank == right) return left;
    }
  }
  return -1;
}

template <typename T>
void share(RankMatrix<T>& matrix, DType dtype, Communicator& control) {
  control.all_reduce(matrix.values().data(), static_cast<std::int64_t>(matrix.values().size()), dtype, ReduceOp::max);
}

PairMatrices measure_pairs(const Context& context, Communicator& world, const Teams& teams, Match& match,
                           const std::vector<PairRound>& rounds) {
  const int me = world.rank();
  PairMatrices out(world.size());
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    context.progress(fmt::format("pairs: round {} of {}", r + 1, rounds.size()));
    context.control.barrier();
    const int peer = peer_of(me, rounds[r], teams);
    if (peer < 0) continue;
    const Meeting meeting = match.play(peer);
    out.both_us.at(me, peer) = static_cast<float>(meeting.both_us);
    out.to_us.at(me, peer) = static_cast<float>(meeting.to_us);
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    out.wrong.at(me, peer) = static_cast<std::int32_t>(std::min(meeting.wrong, most));
  }
  context.progress();
  share(out.both_us, DType::f32, context.control);
  share(out.to_us, DType::f32, context.control);
  share(out.wrong, DType::i32, context.control);
  return out;
}

template <typename T, typename Pick>
void merge(RankMatrix<T>& into, RankMatrix<T>& from, Pick pick) {
  std::ranges::transform(into.values(), from.values(), into.values().begin(), pick);
}

/// 0 stands for a pair that did not meet.
float shorter(float a, float b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

void merge(PairMatrices& all, PairMatrices sweep) {
  merge(all.both_us, sweep.both_us, shorter);
  merge(all.to_us, sweep.to_us, shorter);
  merge(all.wrong, sweep.wrong, [](std::int32_t a, std::int32_t b) { return std::max(a, b); });
  ++all.sweeps;
}

/// A pair may have been slow because others used the same uplinks: what is slow has to be slow again with fewer pairs
/// at work. All ranks have the same matrices, so that all decide alike.
PairMatrices sweep_pairs(const Context& context, Communicator& world, const Teams& teams, Match& match) {
  const Options& o = context.options;
  PairMatrices all = measure_pairs(context, world, teams, match, round_robin(teams.count()));
  while (!context.report.ranks_share_cores()) {
    const auto rounds = next_sweep(slowest_of(teams, all.to_us), all.sweeps, o.tolerance);
    if (rounds.empty()) break;
    merge(all, measure_pairs(context, world, teams, match, rounds));
  }
  return all;
}

}  // namespace

void run_pairs(const Context& context, Communicator& world) {
  const Options& o = context.options;
  const Teams teams = make_teams(o.pairs, context.node_of);
  check_memory(context, world.stream().device(), Match::memory(o.pair_size), fmt::format("--pairs {}", o.pairs));
  Match match(world, o.pair_size, o.measure);
  // As in measure(): its memory outlives the report of a failure.
  const bool on_gpu = world.stream().device().type() == DeviceType::cuda;
  report_pairs(context, teams, reporting_failure({.control = context.control, .on_gpu = on_gpu}, [&] {
                 return sweep_pairs(context, world, teams, match);
               }));
}

}  // namespace octet::commbench

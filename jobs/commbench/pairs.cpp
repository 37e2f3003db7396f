#include <algorithm>
#include <limits>

#include "jobs/commbench/match.h"
#include "jobs/commbench/pairs_report.h"
#include "jobs/commbench/parts.h"

namespace octet::commbench {
namespace {

/// The rank that meets this one in that round; -1: none.
int peer_of(int rank, const std::vector<std::pair<int, int>>& round, const Teams& teams) {
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
void share(RankMatrix<T>& matrix, DType dtype, Communicator& hosts) {
  hosts.all_reduce(matrix.values().data(), static_cast<std::int64_t>(matrix.values().size()), dtype, ReduceOp::max);
}

PairMatrices measure_pairs(const Context& context, Communicator& world, const Teams& teams) {
  const int me = world.rank();
  PairMatrices out(world.size());
  Match match(world, context.options.pair_size, context.options.measure);
  const auto rounds = round_robin(teams.count());
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    context.progress(fmt::format("pairs: round {} of {}", r + 1, rounds.size()));
    context.hosts.barrier();
    const int peer = peer_of(me, rounds[r], teams);
    if (peer < 0) continue;
    const Meeting meeting = match.play(peer);
    out.both_us.at(me, peer) = static_cast<float>(meeting.both_us);
    out.to_us.at(me, peer) = static_cast<float>(meeting.to_us);
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    out.wrong.at(me, peer) = static_cast<std::int32_t>(std::min(meeting.wrong, most));
  }
  context.progress();
  share(out.both_us, DType::f32, context.hosts);
  share(out.to_us, DType::f32, context.hosts);
  share(out.wrong, DType::i32, context.hosts);
  return out;
}

}  // namespace

void run_pairs(const Context& context, Communicator& world) {
  const Options& o = context.options;
  const Teams teams = make_teams(o.pairs, context.node_of);
  check_memory(context, world.stream().device(), Match::memory(o.pair_size), "--pairs " + o.pairs);
  report_pairs(context, teams, measure_pairs(context, world, teams));
}

}  // namespace octet::commbench

#pragma once

#include <cstdint>

#include "jobs/commbench/bench_context.h"
#include "jobs/commbench/teams.h"

namespace octet::commbench {

/// What the sweep of pairs measured, of all ranks.
struct PairMatrices {
  explicit PairMatrices(int ranks) : both_us(ranks), to_us(ranks), wrong(ranks) {}

  RankMatrix<float> both_us, to_us;  ///< at (sender, receiver): both ways at once; one way
  RankMatrix<std::int32_t> wrong;    ///< bytes, at (receiver, sender)
  int sweeps = 1;                    ///< of which the shorter times are here, and the most wrong bytes
};

/// What is slow of the times one way; nothing is where ranks share cores.
PairFindings judge_pairs(const Context& context, const PairTimes& to_us);

/// The matrices in GB/s, wrong bytes and what is slow: into the table, and as "pairs" into the file.
void report_pairs(const Context& context, const Teams& teams, const PairMatrices& matrices);

}  // namespace octet::commbench

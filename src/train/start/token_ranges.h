#pragma once

#include <cstdint>
#include <string>

#include "src/comm/communicator.h"
#include "src/data/sampler.h"
#include "src/data/token_range.h"
#include "src/train/start/run_directory.h"

namespace octet {

// Token ids outside the vocabulary are found when a run starts, not when their batch comes. The range of a source's ids
// is read from the side file of its data (src/data/data_facts.h), or from the run directory, where an earlier start of
// the run has stored it. Data of which nothing is known are scanned (of several parts only those that say nothing), and
// rank 0 stores the result in the run directory: a run writes nothing beside its data.

/// Checks every source of a run. The ranks share a scan, each reading a part of the file, and all throw the same usage
/// error for ids that are not in the vocabulary. Throws as files::read_together where a host cannot read the data.
/// Collective over `control`, main thread.
void check_token_ranges(const Sampler& sampler, const RunDirectory& run, Communicator& control);

/// Checks the one file of --data, outside a run, where nothing is remembered. Collective over `control`, main
/// thread.
void check_token_range(const TokenFile& file, std::int64_t vocab_size, Communicator& control);

/// Checks every source in one process before the run begins, and writes nothing; the directory of the run need not be
/// there. Of data of which nothing is known at most `most_scanned` bytes are scanned, over all sources: one whose .bin
/// file has more than what is left is left to the run, with a line in the log.
void check_token_ranges(const Sampler& sampler, const std::string& run_directory, std::int64_t most_scanned);

}  // namespace octet

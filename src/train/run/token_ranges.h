#pragma once

#include <cstdint>

#include "src/comm/communicator.h"
#include "src/data/sampler.h"
#include "src/data/token_range.h"
#include "src/train/run/run_directory.h"

namespace octet {

// Token ids that the vocabulary does not hold are found when a run starts, not when their batch comes. What the ids of
// a source are is read from the side file of its data (src/data/token_range.h). Where there is none the data are
// scanned, and the side file written; where that cannot be, rank 0 remembers the range in the run directory.

/// Checks every source of a run. The ranks share a scan, each reading a part of the file, and all throw the same usage
/// error for ids that are not in the vocabulary. Throws as checkpoint::read_together where a host cannot read the data.
/// Collective over the hosts, main thread.
void check_token_ranges(const Sampler& sampler, const RunDirectory& run, Communicator& hosts);

/// The same by one process, before there is a run directory: data of which nothing is known are scanned where their
/// .bin file has at most that many bytes, with a line in the log where it has more. The side file is written only with
/// `remember`.
void check_token_ranges(const Sampler& sampler, std::int64_t most_scanned, bool remember);

/// Scans a whole file in this process, with progress on standard error. Throws checkpoint::ReadError.
TokenRange scan_tokens(const TokenFile& file);

}  // namespace octet

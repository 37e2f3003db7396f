#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/comm/communicator.h"
#include "src/data/token_file.h"

namespace octet {

// What a start costs the file system must not grow with the number of ranks times that of files. One rank of each node
// looks whether the data are there. Each pair of files is validated, and its fingerprint made, by one rank of the run,
// which tells the others; those open a file when they first read it.

/// An error of token data as whoever asked for them puts it: with the option that names them.
using ErrorOfData = std::function<Error(const Error&)>;

/// What of a pair is read beside its tokens, when it has been validated.
enum class PairUse : std::uint8_t { tokens, documents };

/// The most mappings of files and memory that a process of this machine may have (vm.max_map_count); INT32_MAX where
/// that cannot be read.
std::int32_t mapping_limit();

/// A token file for each path. All ranks throw the same usage error for files that are missing or damaged, and for more
/// of them than can be mapped on the host with the lowest `limit`, put by `error_of`; as files::read_together where a
/// host does not see, or cannot read, what others do. Collective over `control`, main thread.
std::vector<TokenFile> open_token_files(const std::vector<std::string>& paths, PairUse use, const ErrorOfData& error_of,
                                        Communicator& control, std::int32_t limit = mapping_limit());

}  // namespace octet

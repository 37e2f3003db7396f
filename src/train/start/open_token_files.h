#pragma once

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

/// A token file for each path. All ranks throw the same usage error for files that are missing or damaged, put by
/// `error_of`; as files::read_together where a host does not see, or cannot read, what others do. Collective over the
/// hosts, main thread.
std::vector<TokenFile> open_token_files(const std::vector<std::string>& paths, const ErrorOfData& error_of,
                                        Communicator& hosts);

}  // namespace octet

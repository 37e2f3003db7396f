#pragma once

#include <string>
#include <vector>

namespace octet {

/// Makes one pair PREFIX.bin / PREFIX.idx of several, in their order, and takes the parts' .bin files away one by one
/// as they go over, so that the disk needs room for one part more and not for all twice; where the file system shares
/// blocks, copy_file_range copies nothing. Called again after it was interrupted, at any point, it goes on; the parts'
/// .idx files stay until the caller removes them. As TokenFileWriter it goes by PREFIX.bin.tmp, and replaces what
/// PREFIX was. Usage error for parts that are of several token types, or where one is gone or damaged.
void join_token_files(const std::vector<std::string>& parts, const std::string& prefix);

}  // namespace octet

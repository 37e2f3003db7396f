#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// A version as its numbers: "2.28.9" is {2, 28, 9}. They compare as versions do.
using Version = std::vector<int>;

/// The first dotted numbers of a text ("NCCL version 2.28.9+cuda13.0"); empty when it has none.
Version parse_version(std::string_view text);
/// "2.28.9".
std::string to_text(const Version& version);

/// Whether it is no older than `first` and no newer than `last`; "2.28" as `last` takes in 2.28.9, and an empty bound
/// is none.
bool in_range(const Version& version, std::string_view first, std::string_view last);

}  // namespace octet

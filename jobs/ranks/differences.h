#pragma once

#include <cstdint>
#include <string>

#include "src/comm/communicator.h"

namespace octet {

/// Who of the ranks has what: "node(s) a, b, 2 rank(s) (0-1): TEXT; node(s) c, 1 rank(s) (2): OTHER", one entry for
/// each hash; empty where all have the same one. `text`: what the hash is of, for readers. Collective; every rank gets
/// the same answer.
std::string differences(Communicator& control, const std::string& node, std::uint64_t hash, const std::string& text);

}  // namespace octet

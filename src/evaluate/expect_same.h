#pragma once

#include <string>

#include "src/comm/communicator.h"

namespace octet {

/// Each rank reads texts and tasks for itself. Where one has something else than rank 0, as far as `mine` tells of it,
/// all ranks throw the same usage error: "[evaluate] WHAT: rank 1 on HOST: has 3 questions, and rank 0 40; ...".
/// Collective over `control`.
void expect_same(const std::string& what, const std::string& mine, Communicator& control);

}  // namespace octet

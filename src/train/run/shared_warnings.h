#pragma once

#include "src/comm/communicator.h"

namespace octet {

/// Prints what waits in log::SharedWarnings on any rank: rank 0 prints each text once, with the number of ranks that
/// have it, and which where these are not all. Collective over `control`; nothing is printed where nothing waits.
void tell_shared_warnings(Communicator& control);

}  // namespace octet

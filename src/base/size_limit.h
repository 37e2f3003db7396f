#pragma once

namespace octet {

/// From now on a write beyond the size that a file may have (`ulimit -f`, a limit of the batch system) fails with
/// EFBIG, and is told as a full disk is; by default SIGXFSZ ends the process without a word. To be called first in
/// main; the programs that it starts inherit it.
void take_size_limits_as_errors();

}  // namespace octet

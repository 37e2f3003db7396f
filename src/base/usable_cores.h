#pragma once

namespace octet {

/// How many processors this process may run on, at least 1: the size of its affinity, which std::thread's
/// hardware_concurrency ignores with some versions of the C++ library.
int usable_cores();

}  // namespace octet

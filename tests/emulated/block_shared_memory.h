#pragma once

#include <cstddef>

/// The shared memory of the block that runs on this thread of the operating system: dynamic, and the kernels' own
/// variables, which lie between two markers, since the linker puts thread-local variables in the order of its objects.
namespace octet::emulated {

/// Full of NaN, in every format: what a block did not write it must not read. `dynamic`: bytes that it may use.
/// `variables`: those of all kernels too, which are many.
void forget_shared_memory(std::size_t dynamic, bool variables);
/// Whether nothing was written right behind the dynamic part.
bool is_untouched_behind(std::size_t dynamic);

/// Where the kernels' variables begin and end (tests/emulated/marks/).
extern thread_local char first_variable[64];
extern thread_local char last_variable[64];

}  // namespace octet::emulated

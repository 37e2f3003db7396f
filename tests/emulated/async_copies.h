#pragma once

#include <cstddef>

/// Copies into shared memory that go on while their thread does something else. They are done at once, so that what
/// others still read is gone, or when their thread waits for them, so that who reads before has what was there: the
/// earliest and the latest time at which a GPU does them; blocks differ.
namespace octet::emulated {

void begin_copy(void* to, const void* from, std::size_t bytes);
/// Those since the last commit become a group.
void commit_copies();
/// Until all but the `newest` groups are done.
void wait_for_copies(std::size_t newest);
/// All that the thread has begun, at its end.
void end_copies();

}  // namespace octet::emulated

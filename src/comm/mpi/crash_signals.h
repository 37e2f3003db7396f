#pragma once

namespace octet {

/// UCX, below MPICH, catches the signals of a crash to print where it was. Its handler asks for memory: a process that
/// crashed with the heap's lock held hangs there for good, and no SIGTERM ends it. So they are given back to the
/// system, unless UCX_HANDLE_ERRORS or UCX_ERROR_SIGNALS says what the user wants. Before MPI is begun, and before
/// anyone of ours takes one of them, whom it would be taken from too: a Watchdog calls it.
void leave_crashes_to_the_system();

}  // namespace octet

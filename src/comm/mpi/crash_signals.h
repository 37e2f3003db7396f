#pragma once

namespace octet {

/// UCX, below MPICH, catches the signals of a crash to print where it was. Its handler allocates memory: a process that
/// crashed while it held the heap's lock hangs there for good, and no SIGTERM ends it. So this gives the signals back
/// to the system, unless UCX_HANDLE_ERRORS or UCX_ERROR_SIGNALS says what the user wants. It must be called before MPI
/// is initialised, and before Octet handles one of these signals, since it would take that handler away too; a Watchdog
/// calls it.
void leave_crashes_to_the_system();

}  // namespace octet

#pragma once

#include <memory>
#include <string>

#include "src/comm/communicator.h"
#include "src/comm/nccl_settings.h"

namespace octet {

/// All ranks of `rendezvous`, for a GPU's stream: collectives by NCCL, ordered on the stream. `rendezvous` (MPI, on a
/// CPU stream) tells them of each other, splits groups and is the barrier. Collective. libnccl.so.2 is looked for as
/// CUDA's other libraries are; a usage error says what to do where it is not found, and where the build has no CUDA.
///
/// - Groups of one rank need no NCCL. Sums are in NCCL's order, which may differ from the ranks'.
/// - Nothing waits for the device but barrier(), the freeing of registered memory, and a call that finds the device so
///   many operations behind that the host would lose sight of errors (NcclGroup::most_ahead). NCCL's communicators are
///   non-blocking: what can hang on the host is polled under the watchdog's deadline; what hangs on the device is named
///   by the watchdog (src/comm/in_flight.h).
/// - An error that NCCL reports throws Error (lost_peer) from the next call, naming group and operation; one about the
///   call itself (ncclInvalidArgument, ncclInvalidUsage) is an internal error.
/// - `settings` apply by the groups' names, also to what is split from this one.
std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> rendezvous, Stream& stream,
                                                     const NcclSettings& settings);

/// The version of the NCCL with which this process has made communicators, as 22809; 0: it has made none.
int nccl_in_use();

/// "2.28.9", of the library that is loaded for it; empty in a build without CUDA. Usage error: no such library.
std::string nccl_version();

}  // namespace octet

#pragma once

namespace octet {

/// Environment variable of NCCL, since 2.26: whether the operations of several communicators start on the device in the
/// order in which the host gave them.
inline constexpr const char* nccl_launch_order_variable = "NCCL_LAUNCH_ORDER_IMPLICIT";

/// Makes the process fit for NCCL. To be called first in main, before another thread may read the environment. Without
/// NCCL it has no effect.
///
/// - It sets nccl_launch_order_variable, unless the environment says otherwise. A rank has a communicator for each
///   group of the mesh, on several streams, and every rank makes its calls in the same order. Only with this variable
///   does NCCL promise that they cannot wait for each other ("Using multiple NCCL communicators concurrently" in its
///   user guide); without it, that depends on whether the multiprocessors can hold the kernels of all communicators at
///   once.
/// - It raises the limit of open files (src/base/open_files.h). NCCL holds a socket for each connection over a network
///   card, some thousand for an all-to-all of 512 ranks, and 1,024 files are often all that a job may open.
void prepare_process_for_nccl();

}  // namespace octet

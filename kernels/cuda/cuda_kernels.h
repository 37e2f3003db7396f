#pragma once

#include "kernels/table.h"

/// The CUDA kernels, one file an op, named as the header of the op. Reached through the table only.
/// Launching throws only for what a launch itself refuses; a fault of a kernel shows at a later call on its stream.
namespace octet::cuda {

OCTET_OPERATIONS(OCTET_DECLARE, OCTET_DECLARE_WITH_WORKSPACE)

}  // namespace octet::cuda

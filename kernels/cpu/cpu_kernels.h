#pragma once

#include "kernels/table.h"

/// The CPU kernels, one file an op, named as the header of the op. Reached through the table only.
namespace octet::cpu {

OCTET_OPERATIONS(OCTET_DECLARE, OCTET_DECLARE_WITH_WORKSPACE)

/// The fp8 form of a tensor that a kernel has just written.
void cast_output(Stream&, const Float8Out& out, const void* x, DType dtype, std::int64_t n, std::int64_t columns);

}  // namespace octet::cpu

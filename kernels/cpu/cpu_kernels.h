#pragma once

#include "kernels/table.h"

/// The CPU kernels, one file an op, named as the header of the op. Reached through the table only.
namespace octet::cpu {

OCTET_OPERATIONS(OCTET_DECLARE, OCTET_DECLARE_WITH_WORKSPACE)

/// The fp8 form of elements [at, at + n) of a tensor, which a thread has just computed and has in x [n]. Does nothing
/// where none is asked for.
void cast_part(const Float8Out& out, const float* x, std::int64_t at, std::int64_t n);
void cast_part(const Float8Out& out, const bf16* x, std::int64_t at, std::int64_t n);
/// The transposed form of a tensor of n elements, if it is asked for; to be called when all parts are cast.
void transpose_parts(Stream& stream, const Float8Out& out, std::int64_t n, std::int64_t columns);

}  // namespace octet::cpu

#pragma once

namespace octet {

/// The NCCL that this process runs, 22809 for 2.28.9; 0 where it cannot be told. `inside_nccl` is an address in it (its
/// logger) or null: NCCL is often loaded where the global scope does not see it, and a process may hold two.
int nccl_version(const void* inside_nccl) noexcept;

}  // namespace octet

#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include "kernels/cpu/gemm/multiply.h"

namespace octet::cpu::attention {

/// Calls work(unit, block) for units [0, units) on all threads, each of which multiplies alone and has a block of its
/// own. What a call throws must not leave OpenMP's region: the first error comes out behind it.
template <typename Block, typename Work>
void for_units(std::int64_t units, const Work& work) {
  std::exception_ptr failure;
#pragma omp parallel
  {
    const OneThreadProducts alone;
    std::unique_ptr<Block> block;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t u = 0; u < units; ++u) {
      try {
        if (!block) block = std::make_unique_for_overwrite<Block>();
        work(u, *block);
      } catch (...) {
#pragma omp critical(octet_attention_failure)
        if (!failure) failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace octet::cpu::attention

#pragma once

#include "tests/emulated/async_copies.h"

inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) {
  octet::emulated::begin_copy(to, from, bytes);
}
inline void __pipeline_commit() {
  octet::emulated::commit_copies();
}
inline void __pipeline_wait_prior(std::size_t newest) {
  octet::emulated::wait_for_copies(newest);
}

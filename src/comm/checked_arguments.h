#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/dtype.h"
#include "src/base/error.h"

namespace octet {

/// What every backend refuses in the same way: calls that only a bug can make. All throw Error (internal).

inline void check_count(std::string_view operation, std::string_view group, std::int64_t count) {
  if (count < 0) throw internal_error("comm", "{} of {} elements in group {}", operation, count, group);
}

inline void check_peer(std::string_view operation, std::string_view group, int peer, int size) {
  if (peer < 0 || peer >= size) {
    throw internal_error("comm", "{} with rank {} in group {}, which has {} ranks", operation, peer, group, size);
  }
}

inline void check_reducible(std::string_view group, DType dtype) {
  if (dtype != DType::f32 && dtype != DType::i32) {
    throw internal_error("comm", "all_reduce of {} in group {}, expected f32 or i32", name_of(dtype), group);
  }
}

}  // namespace octet

#include "tests/emulated/block_shared_memory.h"

#include <algorithm>
#include <cstring>

#include "tests/emulated/thread_block.h"

namespace octet::cuda {
alignas(128) thread_local int4 dynamic_shared_memory[emulated::most_dynamic_shared / sizeof(int4)];
}  // namespace octet::cuda

namespace octet::emulated {
namespace {

constexpr std::size_t guard = 1024;  // bytes
constexpr unsigned char nan = 0xFF;

/// Of the guard behind the dynamic part.
std::size_t guarded(std::size_t dynamic) {
  return std::min(guard, most_dynamic_shared - dynamic);
}
unsigned char* dynamic_bytes() {
  return reinterpret_cast<unsigned char*>(cuda::dynamic_shared_memory);
}

}  // namespace

void forget_shared_memory(std::size_t dynamic, bool variables) {
  std::memset(dynamic_bytes(), nan, dynamic + guarded(dynamic));
  if (!variables) return;
  char *const begin = first_variable, *const end = last_variable;
  std::memset(begin, nan, static_cast<std::size_t>(end - begin));
}

bool is_untouched_behind(std::size_t dynamic) {
  const unsigned char* behind = dynamic_bytes() + dynamic;
  return std::all_of(behind, behind + guarded(dynamic), [](unsigned char byte) { return byte == nan; });
}

}  // namespace octet::emulated

#include "src/device/cpu/stream_copy.h"

#include <cstddef>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace octet {

#ifdef __SSE2__

void stream_copy(void* to, const void* from, std::int64_t bytes) noexcept {
  constexpr std::size_t line = 64, in_cache = std::size_t{256} << 10;
  auto n = static_cast<std::size_t>(bytes);
  if (n < in_cache) {
    if (n > 0) std::memcpy(to, from, n);
    return;
  }
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(out) % line) % line;
  std::memcpy(out, in, head);
  for (out += head, in += head, n -= head; n >= line; out += line, in += line, n -= line) {
    const auto* source = reinterpret_cast<const __m128i*>(in);
    auto* target = reinterpret_cast<__m128i*>(out);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1), c = _mm_loadu_si128(source + 2),
                  d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(out, in, n);
  _mm_sfence();  // other threads see it in the order of later stores
}

#else

void stream_copy(void* to, const void* from, std::int64_t bytes) noexcept {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

#endif

}  // namespace octet

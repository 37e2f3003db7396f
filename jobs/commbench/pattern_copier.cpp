#include "jobs/commbench/pattern_copier.h"

#include <algorithm>
#include <cstring>

namespace octet::commbench {
namespace {

constexpr std::int64_t chunk_bytes = 1 << 20;

}  // namespace

PatternCopier::PatternCopier(Stream& stream)
    : stream_(stream), device_(stream.device()), found_(device_, chunk_bytes), expected_(device_, chunk_bytes) {}

void PatternCopier::write(void* to, DType dtype, Pattern& pattern, int source, std::int64_t begin, std::int64_t n) {
  const std::int64_t size = size_of(dtype), most = chunk_bytes / size;
  for (std::int64_t done = 0; done < n; done += most) {
    const std::int64_t length = std::min(most, n - done);
    pattern.write(expected_.data(), dtype, source, begin + done, length);
    device_.copy_from_host(static_cast<char*>(to) + done * size, expected_.data(), length * size, stream_);
    stream_.synchronize();  // the chunk is written again
  }
}

std::int64_t PatternCopier::count_wrong(const void* found, DType dtype, Pattern& pattern, int source,
                                        std::int64_t begin, std::int64_t n) {
  const std::int64_t size = size_of(dtype), most = chunk_bytes / size;
  std::int64_t wrong = 0;
  for (std::int64_t done = 0; done < n; done += most) {
    const std::int64_t length = std::min(most, n - done);
    pattern.write(expected_.data(), dtype, source, begin + done, length);
    device_.copy_to_host(found_.data(), static_cast<const char*>(found) + done * size, length * size, stream_);
    stream_.synchronize();
    const char *a = found_.as<char>(), *b = expected_.as<char>();
    if (std::memcmp(a, b, static_cast<std::size_t>(length * size)) == 0) continue;
    for (std::int64_t i = 0; i < length; ++i) {
      wrong += std::memcmp(a + i * size, b + i * size, static_cast<std::size_t>(size)) != 0 ? 1 : 0;
    }
  }
  return wrong;
}

void PatternCopier::poison(void* to, std::int64_t bytes) {
  std::memset(expected_.data(), 0xFF, static_cast<std::size_t>(std::min(bytes, chunk_bytes)));
  for (std::int64_t done = 0; done < bytes; done += chunk_bytes) {
    device_.copy_from_host(static_cast<char*>(to) + done, expected_.data(), std::min(chunk_bytes, bytes - done),
                           stream_);
  }
  stream_.synchronize();
}

}  // namespace octet::commbench

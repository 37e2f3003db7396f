#include "jobs/commbench/pattern.h"

#include <algorithm>
#include <type_traits>

#include "src/base/error.h"

namespace octet::commbench {
namespace {

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// a(i) is 0 to 127 and cheap, because it is computed for every element. `scale` multiplies it for the sum of ranks.
template <typename T>
void write_block(T* to, const std::int32_t* row, std::int64_t begin, std::int64_t n, std::uint32_t key,
                 std::int32_t scale) {
  for (std::int64_t j = 0; j < n; ++j) {
    const auto a = static_cast<std::int32_t>(((static_cast<std::uint32_t>(begin + j) ^ key) * 2654435761u) >> 25);
    const std::int32_t value = a * scale + row[j];
    if constexpr (std::is_same_v<T, bf16>) {
      to[j] = bf16(static_cast<float>(value));
    } else {
      to[j] = static_cast<T>(value);
    }
  }
}

}  // namespace

Pattern::Pattern(int ranks, std::uint64_t seed) : ranks_(ranks), seed_(mix(seed)) {
  if (ranks > 65536) throw usage_error("commbench", "{} ranks, expected at most 65536: sums would not be exact", ranks);
}

std::int32_t Pattern::weight(int rank, int place) const {
  return static_cast<std::int32_t>(
      mix(seed_ + static_cast<std::uint64_t>(rank) * period + static_cast<unsigned>(place)) % 128);
}

const Pattern::Row& Pattern::row(int source) {
  if (source == cached_source_) return row_;
  cached_source_ = source;
  for (int place = 0; place < period; ++place) {
    std::int32_t& value = row_[static_cast<std::size_t>(place)];
    value = source >= 0 ? weight(source, place) : 0;
    for (int rank = 0; source < 0 && rank < ranks_; ++rank) {
      value = source == sum ? value + weight(rank, place) : std::max(value, weight(rank, place));
    }
  }
  return row_;
}

void Pattern::write(void* to, DType dtype, int source, std::int64_t begin, std::int64_t n) {
  if (source < 0 && dtype != DType::f32) throw internal_error("commbench", "a sum of {}, expected f32", name_of(dtype));
  const Row& weights = row(source);
  const auto key = static_cast<std::uint32_t>(seed_);
  const std::int32_t scale = source == sum ? ranks_ : 1;
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t at = begin + done, place = at % period, length = std::min(n - done, period - place);
    const std::int32_t* row = weights.data() + place;
    char* const block = static_cast<char*>(to) + done * size_of(dtype);
    switch (dtype) {
      case DType::f32:
        write_block(reinterpret_cast<float*>(block), row, at, length, key, scale);
        break;
      case DType::bf16:
        write_block(reinterpret_cast<bf16*>(block), row, at, length, key, scale);
        break;
      case DType::i32:
        write_block(reinterpret_cast<std::int32_t*>(block), row, at, length, key, scale);
        break;
      case DType::e4m3:
      case DType::e5m2:
      case DType::u8:
        write_block(reinterpret_cast<std::uint8_t*>(block), row, at, length, key, scale);
        break;
    }
    done += length;
  }
}

}  // namespace octet::commbench

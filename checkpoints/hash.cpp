#include "checkpoints/hash.h"

// Compiled in rather than linked: the distribution's library is built for the oldest x86-64, at half the speed.
#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace octet::checkpoint {
namespace {

std::string digits(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

struct Hasher::State {
  XXH3_state_t xxh;  // aligned by its type, which C++17's new respects
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->xxh);
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::add(const void* data, std::size_t bytes) {
  XXH3_128bits_update(&state_->xxh, data, bytes);
}

std::string Hasher::hex() const {
  return digits(XXH3_128bits_digest(&state_->xxh));
}

std::string hash_of(const void* data, std::size_t bytes) {
  return digits(XXH3_128bits(data, bytes));
}

std::string hash_of(std::string_view text) {
  return hash_of(text.data(), text.size());
}

bool is_hash(std::string_view text) {
  return text.size() == 32 &&
         std::all_of(text.begin(), text.end(), [](char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f'); });
}

}  // namespace octet::checkpoint

#include "checkpoints/format/hash.h"

// Compiled in rather than linked: the distribution's library is built for the oldest x86-64, at half the speed.
#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

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
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

namespace {

/// `found`: bytes that there were.
std::string hash_range(const files::InputFile& file, const files::FileRange& range,
                       const std::function<void(std::int64_t)>& progress, std::int64_t& found) {
  Hasher hasher;
  const auto add = [&](std::span<const char> block) {
    hasher.add(block.data(), block.size());
    if (progress) progress(static_cast<std::int64_t>(block.size()));
  };
  found = file.read_blocks(add, range);
  return hasher.hex();
}

}  // namespace

StoredFile hash_file(const files::InputFile& input, const std::string& name,
                     const std::function<void(std::int64_t)>& progress) {
  StoredFile file;
  file.name = name;
  file.hash = hash_range(input, {}, progress, file.bytes);
  return file;
}

StoredFile hash_file(const std::string& path, const std::function<void(std::int64_t)>& progress) {
  return hash_file(files::InputFile(path), path.substr(path.rfind('/') + 1), progress);
}

std::string hash_data(const files::InputFile& input, std::int64_t offset, std::int64_t bytes,
                      const std::function<void(std::int64_t)>& progress) {
  return hash_range(input, {offset, bytes}, progress, bytes);
}

}  // namespace octet::checkpoint

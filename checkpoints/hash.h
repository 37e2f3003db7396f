#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace octet::checkpoint {

/// XXH3-128 of a stream of bytes, as xxhsum -H2 and Python's xxhash.xxh3_128_hexdigest print it.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void add(const void* data, std::size_t bytes);
  /// 32 hexadecimal digits of all that was added; more may follow.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hash_of(const void* data, std::size_t bytes);
std::string hash_of(std::string_view text);

/// Says whether `text` has the form of a hash: 32 lower-case hexadecimal digits.
bool is_hash(std::string_view text);

}  // namespace octet::checkpoint

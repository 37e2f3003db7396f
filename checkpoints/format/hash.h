#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "checkpoints/format/format.h"
#include "src/base/read_file.h"

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

/// Size and XXH3-128 of a file, read in blocks; `progress` (may be null) is called with the bytes of each block.
StoredFile hash_file(const files::InputFile& input, const std::string& name,
                     const std::function<void(std::int64_t)>& progress = nullptr);
StoredFile hash_file(const std::string& path, const std::function<void(std::int64_t)>& progress = nullptr);

/// XXH3-128 of the bytes there (of fewer, where the file ends before); as above.
std::string hash_data(const files::InputFile& input, std::int64_t offset, std::int64_t bytes,
                      const std::function<void(std::int64_t)>& progress = nullptr);

}  // namespace octet::checkpoint

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "src/base/named_enum.h"

namespace octet {

/// How a file is packed.
enum class Packing : std::uint8_t { none, gzip, zstd };
constexpr auto names_of(Packing) {
  return std::to_array<std::string_view>({"plain", "gzip", "zstd"});
}

/// The unpacked bytes of a file, one after the other. It belongs to one thread.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Fills `out` from its beginning; fewer bytes come only at the end, none behind it. Usage error that names the file
  /// where it cannot be read, or where what packs it is broken or cut off.
  virtual std::size_t read(std::span<char> out) = 0;
  /// Bytes of the file that were used so far.
  virtual std::int64_t used() const = 0;
};

/// Bytes [begin, end) of a file as they are. `end` may lie behind the file's.
std::unique_ptr<ByteStream> open_plain(const std::string& path, std::int64_t begin = 0,
                                       std::int64_t end = std::numeric_limits<std::int64_t>::max());
/// All members of a gzip file, through zlib.
std::unique_ptr<ByteStream> open_gzip(const std::string& path);
/// All frames of a zstd file, through libzstd, which needs up to 128 MiB for a window; larger ones are refused.
std::unique_ptr<ByteStream> open_zstd(const std::string& path);

std::unique_ptr<ByteStream> open_packed(const std::string& path, Packing packing);

}  // namespace octet

#pragma once

#include <cstdint>
#include <string_view>

namespace octet {

/// Bytes of a command line: "4096", "64K", "1.5M", "2GiB", "500 MB". As in nccl-tests K, M, G and T (either case) are
/// powers of 1024, as are KiB to TiB; KB to TB are powers of 1000, as safetensors' shards have them. A fraction of a
/// byte is cut off behind a unit and refused without one. Usage error that names `option` for anything else, and for
/// less than a byte.
std::int64_t parse_bytes(std::string_view text, std::string_view option);

}  // namespace octet

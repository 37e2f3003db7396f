#pragma once

#include <cstdint>
#include <string_view>

namespace octet {

/// CRC-32C (Castagnoli polynomial, reflected), as in iSCSI (RFC 3720, B.4) and TensorFlow's record files.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace octet

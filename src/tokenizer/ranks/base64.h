#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octet {

/// The bytes of a text in base64 (RFC 4648, section 4) with its padding; nothing where it is none.
std::optional<std::string> base64_bytes(std::string_view text);

}  // namespace octet

#pragma once

#include <string>

namespace octet {

/// Whether the file that is open has that name still: false, too, where it was removed, or another has it now.
[[nodiscard]] bool is_named(int file, const std::string& path);

}  // namespace octet

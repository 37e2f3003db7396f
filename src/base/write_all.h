#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace octet {

// The only places that write to files, but for what a program prints. A write of nothing, for which the system gives no
// reason, is a full disk on some file systems: it counts as ENOSPC. (C++'s streams try it again for ever.)
// All return false, with errno, where the system refuses; what was written until then stays. Any thread.

/// To an open file, where it stands.
[[nodiscard]] bool write_all(int file, const void* data, std::size_t bytes);
[[nodiscard]] bool write_all(int file, std::string_view text);
/// At an offset, in bytes; the file stays where it stands.
[[nodiscard]] bool write_all_at(int file, std::int64_t offset, const void* data, std::size_t bytes);

/// To the end of the file at `path`, which is made if missing.
[[nodiscard]] bool append_text(const std::string& path, std::string_view text);
/// In place of all that the file at `path` has, which is made if missing. A reader may see a part (replace_file.h).
[[nodiscard]] bool overwrite_text(const std::string& path, std::string_view text);

}  // namespace octet

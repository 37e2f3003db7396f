#pragma once

#include <string>
#include <string_view>

namespace octet {

/// Puts `text` in place of the file at `path`, or makes it: written under another name beside it, then renamed, so that
/// a reader finds the old text or the new one and never a part. Several processes and threads may do so at once; the
/// last one counts. Nothing is synced: what a machine that loses its power finds may be empty. False, with errno, where
/// the system refuses.
[[nodiscard]] bool replace_file(const std::string& path, std::string_view text);
/// The same for what a run can do without: where the system refuses, a warning says why.
void replace_file_or_warn(const std::string& path, std::string_view text);
/// The same, on the disk when this returns: a machine that loses its power later has the text.
[[nodiscard]] bool replace_file_durably(const std::string& path, std::string_view text);

/// Says whether replace_file would succeed now, for those who have the text only after hours. The check touches nothing
/// at `path` and leaves nothing beside it. The answer is no, with errno, where the system refuses and where a folder
/// (EISDIR) or a device has the name, or a link of /dev (ENOTSUP).
[[nodiscard]] bool can_replace_file(const std::string& path);

/// Removes what processes that were killed in replace_file left beside that path. While another one is in it for the
/// same path, that one may be refused.
void remove_replacements(const std::string& path);

}  // namespace octet

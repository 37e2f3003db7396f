#pragma once

#include <string>

namespace octet {

/// Waits until the entries of a folder are on the disk: the names of files that were made or renamed there. False, with
/// errno, where the system refuses; a file system that cannot sync folders, as some over a network, is no refusal.
[[nodiscard]] bool sync_folder(const std::string& path);
/// Of the folder that a file is in.
[[nodiscard]] bool sync_folder_of(const std::string& file);

}  // namespace octet

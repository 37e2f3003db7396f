#pragma once

#include <string>
#include <string_view>

namespace octet {

/// Says whether a text, or the beginning of one, is what Git LFS leaves in the place of a file that it has not fetched:
/// three lines, of which the last would pass for that of a rank file. A folder of Hugging Face that was cloned without
/// git-lfs has them for weights and tokenizers.
bool is_lfs_pointer(std::string_view text);

/// Refuses such a text: usage error of the room with the file's name and what fetches the file. Nothing for another.
void refuse_lfs_pointer(std::string_view text, std::string_view room, const std::string& file);

}  // namespace octet

#include "src/base/lfs_pointer.h"

#include "src/base/error.h"

namespace octet {

bool is_lfs_pointer(std::string_view text) {
  return text.starts_with("version https://git-lfs.github.com/spec/");
}

void refuse_lfs_pointer(std::string_view text, std::string_view room, const std::string& file) {
  if (!is_lfs_pointer(text)) return;
  throw usage_error(room,
                    "{}: is a pointer of Git LFS, which stands for a file that was not fetched; expected the file "
                    "itself (`git lfs pull` in its folder, or `hf download`)",
                    file);
}

}  // namespace octet

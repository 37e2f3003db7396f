#include "src/base/sync_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "src/base/file_handle.h"

namespace octet {

bool sync_folder(const std::string& path) {
  const FileHandle folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return false;
  return ::fsync(folder.get()) == 0 || errno == EINVAL;
}

bool sync_folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return sync_folder(folder.empty() ? "." : folder.string());
}

}  // namespace octet

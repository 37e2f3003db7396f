#include "src/base/replace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "src/base/files.h"
#include "src/base/log.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// "RANK-PROCESS" of a name "PREFIX.RANK-PROCESS.tmp".
bool is_replacement(std::string_view name, const std::string& prefix) {
  constexpr std::string_view end = ".tmp";
  if (!name.starts_with(prefix) || !name.ends_with(end) || name.size() < prefix.size() + end.size()) return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(end.size());
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::size_t dash = name.find('-');
  return dash != std::string_view::npos && is_number(name.substr(0, dash)) && is_number(name.substr(dash + 1));
}

/// Makes the file anew: one of that name, which a killed process left or somebody put there, is removed.
FileHandle open_temporary(const std::string& path) {
  FileHandle file = open_to_write(path.c_str(), O_WRONLY | O_EXCL);
  if (!file && errno == EEXIST && ::unlink(path.c_str()) == 0) file = open_to_write(path.c_str(), O_WRONLY | O_EXCL);
  return file;
}

/// A name that no other thread uses: the rank tells apart threads that have the same number on two machines.
std::string temporary_of(const std::string& path) {
  return fmt::format("{}.{}-{}.tmp", path, log::rank(), ::gettid());
}

/// `ready`: what is done with the file before it takes the name; false, with errno, where the system refuses.
template <typename Ready>
bool replace_when(const std::string& path, std::string_view text, const Ready& ready) {
  const std::string temporary = temporary_of(path);
  FileHandle file = open_temporary(temporary);
  // A network file system sends at the close what others are to find under the new name, if it has room for it.
  if (file && write_all(file.get(), text) && ready(file.get()) && close_file(file) &&
      std::rename(temporary.c_str(), path.c_str()) == 0) {
    return true;
  }
  const int why = errno;
  file.reset();
  std::remove(temporary.c_str());
  errno = why;
  return false;
}

}  // namespace

bool replace_file(const std::string& path, std::string_view text) {
  return replace_when(path, text, [](int) { return true; });
}

void replace_file_or_warn(const std::string& path, std::string_view text) {
  if (!replace_file(path, text)) log::warning("{}: cannot be written: {}", path, why_not_written(errno));
}

bool replace_file_durably(const std::string& path, std::string_view text) {
  return replace_when(path, text, [](int file) { return ::fsync(file) == 0; }) && sync_folder_of(path);
}

bool can_replace_file(const std::string& path) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  // /dev/stdout is a link to whatever the output goes to, perhaps to a file: a rename would replace the link.
  const bool is_link_of_dev = fs::is_symlink(fs::symlink_status(path, error)) && path.starts_with("/dev/");
  if (is_link_of_dev || (fs::exists(there) && !fs::is_regular_file(there))) {
    errno = fs::is_directory(there) ? EISDIR : ENOTSUP;
    return false;
  }
  const std::string temporary = temporary_of(path);
  if (!open_temporary(temporary)) return false;
  return std::remove(temporary.c_str()) == 0;
}

void remove_replacements(const std::string& path) {
  const fs::path file(path);
  std::error_code error;
  std::vector<fs::path> found;  // first, since it is not specified what a listing shows while files are removed
  const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  for (fs::directory_iterator i(folder, error); !error && i != fs::directory_iterator(); i.increment(error)) {
    if (is_replacement(i->path().filename().string(), file.filename().string() + ".")) found.push_back(i->path());
  }
  for (const fs::path& leftover : found) fs::remove(leftover, error);
}

}  // namespace octet

#include "src/corpus/part_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <regex>
#include <system_error>

#include "src/base/error.h"
#include "src/base/handle.h"

namespace octet {
namespace {

using FolderStream = Handle<ClosedBy<DIR*, ::closedir>>;

constexpr std::string_view what_else = "the parts of the output are made in a folder of that name";

/// Whether a process that was killed before making.json got its name can have left a file called `name`.
bool is_of_a_beginning(const std::string& name) {
  return name == "lock" || (name.starts_with("making.json.") && is_part_file(name));
}

/// For a message: the first ones, and how many more there are.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  const std::size_t told = std::min(names.size(), most);
  const std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(told), ", "));
  return names.size() > told ? fmt::format("{} and {} more", text, names.size() - told) : text;
}

}  // namespace

bool is_part_file(std::string_view name) {
  // Those of replace_file are RANK-PROCESS.tmp (replace_file.h).
  static const std::regex own(R"(lock|(making|joined)\.json(\.\d+-\d+\.tmp)?)"
                              R"(|\d{5,9}(-holdout)?(\.(bin|idx)(\.tmp)?|(\.data)?\.json(\.\d+-\d+\.tmp)?))");
  return name.size() <= 255 && std::regex_match(name.begin(), name.end(), own);
}

std::optional<PartFiles> PartFiles::find(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw not_read("corpus", path);
  }
  if (S_ISLNK(there.st_mode)) {
    throw usage_error("corpus",
                      "{}: is a symbolic link, which is not followed; {}: remove the link, or take another --output",
                      path, what_else);
  }
  if (!S_ISDIR(there.st_mode)) {
    throw usage_error("corpus", "{}: is no folder; {}: move it away, or take another --output", path, what_else);
  }
  FileHandle folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) throw not_read("corpus", path);
  return PartFiles(path, std::move(folder));
}

PartFiles PartFiles::make(const std::string& path) {
  if (auto found = find(path)) return *std::move(found);
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  errno = failed.value();
  if (failed) throw not_made("corpus", path);
  if (auto made = find(path)) return *std::move(made);
  throw usage_error("corpus", "{}: is gone since it was created", path);
}

std::optional<Making> PartFiles::making() const {
  return read_making(path_ + "/making.json");
}

std::vector<std::string> PartFiles::names() const {
  const int again = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // with a place of its own
  const FolderStream stream(again < 0 ? nullptr : ::fdopendir(again));
  if (!stream) throw not_read("corpus", path_);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

/// False where there is none and none is to be made. A lock is an empty file.
bool PartFiles::take_lock(bool make) {
  struct stat there {};
  const bool is_there = ::fstatat(folder_.get(), "lock", &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there && !make) return false;
  if (is_there && (!S_ISREG(there.st_mode) || there.st_size != 0)) {
    throw usage_error("corpus",
                      "{}/lock: is no lock of octet prepare, which is an empty file; {}: move it away, or take another "
                      "--output",
                      path_, what_else);
  }
  const std::string file = path_ + "/lock";
  FileHandle lock = open_to_write(file.c_str(), O_RDWR);
  if (!lock) throw not_written("corpus", file);
  lock_to_write("corpus", lock.get(), file, path_);
  lock_ = std::move(lock);
  return true;
}

void PartFiles::refuse_foreign() const {
  std::vector<std::string> foreign = names();
  std::erase_if(foreign, is_of_a_beginning);
  if (foreign.empty() || making()) return;
  throw usage_error(
      "corpus",
      "{} has {} and no making.json that octet prepare wrote: it is not known whose they are, so they stay; "
      "{}: take another --output, or move the folder away",
      path_, some_of(foreign), what_else);
}

void PartFiles::claim() {
  const bool locked = take_lock(false);
  refuse_foreign();  // before anything is made there
  if (!locked) take_lock(true);
}

std::vector<std::string> PartFiles::remove_files(const std::set<std::string>& but) const {
  std::vector<std::string> stay;
  int why = 0;
  for (const std::string& name : names()) {
    if (name == "lock" || but.contains(name) || !is_part_file(name)) continue;
    if (::unlinkat(folder_.get(), name.c_str(), 0) == 0 || errno == ENOENT) continue;
    why = errno;
    stay.push_back(name);
  }
  errno = why;
  return stay;
}

bool PartFiles::remove_folder() {
  if (lock_) ::unlinkat(folder_.get(), "lock", 0);
  lock_.reset();  // on a network file system the name of an open file stays in another form
  return ::rmdir(path_.c_str()) == 0;
}

}  // namespace octet

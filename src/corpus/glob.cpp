#include "src/corpus/glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "src/base/files.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

/// The names of a path, without empty ones.
std::vector<std::string> names_of_path(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) names.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return names;
}

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator entry(folder.empty() ? "." : folder, failed);
  while (!failed && entry != fs::directory_iterator()) {
    entries.push_back(*entry);
    entry.increment(failed);
  }
  errno = failed.value();
  if (failed) throw not_read("corpus", "folder " + folder.string());
  return entries;
}

class Expansion {
 public:
  explicit Expansion(std::vector<std::string> names) : names_(std::move(names)) {}

  void go(const fs::path& folder, std::size_t at) {
    std::error_code failed;
    if (at == names_.size()) return found_.push_back(folder.string());
    const std::string& name = names_[at];
    if (name == "**") return go_deep(folder, at);
    if (!is_glob(name)) {
      if (fs::exists(folder / name, failed)) go(folder / name, at + 1);
      return;
    }
    const fs::path read = folder.empty() ? "." : folder;
    if (!fs::is_directory(read, failed)) return;
    for (const fs::directory_entry& entry : entries_of(folder)) {
      const std::string& here = entry.path().filename().string();
      if (::fnmatch(name.c_str(), here.c_str(), FNM_PERIOD) == 0) go(folder / here, at + 1);
    }
  }

  GlobMatches matches() {
    std::ranges::sort(found_);
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return {std::move(found_), {linked_.begin(), linked_.end()}};
  }

 private:
  void go_deep(const fs::path& folder, std::size_t at) {
    go(folder, at + 1);
    for (const fs::directory_entry& entry : entries_of(folder)) {
      std::error_code failed;
      const std::string name = entry.path().filename().string();
      if (name.starts_with('.') || !entry.is_directory(failed)) continue;
      if (entry.is_symlink(failed)) {
        linked_.insert((folder / name).string());
      } else {
        go_deep(folder / name, at);
      }
    }
  }

  std::vector<std::string> names_;
  std::vector<std::string> found_;
  std::set<std::string> linked_;
};

}  // namespace

bool is_glob(std::string_view path) {
  return path.find_first_of("*?[") != std::string_view::npos;
}

GlobMatches expand_glob(const std::string& pattern) {
  Expansion expansion(names_of_path(pattern));
  expansion.go(pattern.starts_with('/') ? "/" : "", 0);
  return expansion.matches();
}

}  // namespace octet

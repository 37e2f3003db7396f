#include "src/device/cuda/dynamic_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <utility>

#include "src/base/cuda_folders.h"
#include "src/base/error.h"
#include "src/base/log.h"

namespace octet::cuda {
namespace {

namespace fs = std::filesystem;

void add_configured(const std::string& file, int depth, std::vector<std::string>& folders) {
  constexpr int deepest = 8;  // files that include each other
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    line = line.substr(0, line.find('#'));
    line.erase(std::min(line.find_last_not_of(" \t") + 1, line.size()));
    if (line.starts_with('/')) folders.push_back(line);
    if (!line.starts_with("include ") || depth == deepest) continue;
    glob_t found{};
    if (::glob(line.substr(line.find('/')).c_str(), 0, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc; ++i) add_configured(found.gl_pathv[i], depth + 1, folders);
    }
    ::globfree(&found);
  }
}

using Version = std::vector<int>;

/// "13.1.0.3" is 13, 1, 0, 3; empty where there is anything else.
Version version_of(const std::string& text) {
  Version version;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, '.');) {
    int number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size()) return {};
    version.push_back(number);
  }
  return version;
}

/// Of the package that has the library as site-packages/nvidia/FOLDER/lib/FILE.
Version packaged_version(const fs::path& library, std::string package) {
  std::ranges::replace(package, '-', '_');
  const fs::path packages = library.parent_path().parent_path().parent_path().parent_path();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(packages, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(package + "-") || !name.ends_with(".dist-info")) continue;
    const std::size_t from = package.size() + 1;
    return version_of(name.substr(from, name.size() - from - std::string(".dist-info").size()));
  }
  return {};
}

Version version_of(const fs::path& library, std::string_view package) {
  std::error_code error;
  const std::string real = fs::canonical(library, error).filename().string();
  const auto at = real.find(".so.");
  Version version = at == std::string::npos ? Version() : version_of(real.substr(at + 4));
  return version.size() > 1 ? version : packaged_version(library, std::string(package));
}

}  // namespace

std::vector<std::string> loader_folders() {
  std::vector<std::string> folders = folders_of_list(environment_variable("LD_LIBRARY_PATH"));
  add_configured("/etc/ld.so.conf", 0, folders);
  return folders;
}

std::vector<std::string> newest_first(const std::string& file, std::string_view package,
                                      const std::vector<std::string>& folders) {
  std::vector<std::pair<Version, std::string>> found;
  std::set<fs::path> seen;
  for (const std::string& folder : folders) {
    std::error_code error;
    const std::string path = folder + "/" + file;
    const fs::path real = fs::canonical(path, error);
    if (error || !seen.insert(real).second) continue;
    found.emplace_back(version_of(fs::path(path), package), path);
  }
  std::ranges::stable_sort(found, std::greater(), &std::pair<Version, std::string>::first);
  std::vector<std::string> paths;
  for (auto& [version, path] : found) paths.push_back(std::move(path));
  return paths;
}

DynamicLibrary::DynamicLibrary(std::string file, std::string_view package, LibraryChoice choice, const WhyNot& why_not)
    : file_(std::move(file)) {
  const std::vector<std::string> folders = cuda_library_folders(environment_variable);
  std::vector<std::string> candidates;
  if (choice == LibraryChoice::newest) {
    std::vector<std::string> all = loader_folders();
    all.insert(all.end(), folders.begin(), folders.end());
    candidates = newest_first(file_, package, all);
    candidates.push_back(file_);
  } else {
    candidates.push_back(file_);
    for (const std::string& folder : folders) {
      std::error_code error;
      if (fs::exists(folder + "/" + file_, error)) candidates.push_back(folder + "/" + file_);
    }
  }
  std::string reason, refusal;
  for (const std::string& path : candidates) {
    if (why_not != nullptr) {
      if (std::string why = why_not(path); !why.empty()) {
        if (refusal.empty()) refusal = std::move(why);  // of the best, with its path
        continue;
      }
    }
    // Global: cuDNN and cuBLAS open further libraries, which expect to find the first.
    handle_ = functions_ = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle_ != nullptr) return;
    if (const char* why = dlerror(); why != nullptr) reason = why;
  }
  throw usage_error("device",
                    "{} cannot be loaded: {}; install the CUDA libraries (for example `pip install {}`) or name their "
                    "folder in LD_LIBRARY_PATH. Looked into: {}",
                    file_, refusal.empty() ? reason : refusal, package, fmt::join(folders, ", "));
}

void* DynamicLibrary::open_beside(const std::string& file) const {
  const fs::path path = fs::path(this->path()).parent_path() / file;
  std::error_code error;
  return fs::exists(path, error) ? dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) : nullptr;
}

void* DynamicLibrary::symbol(const char* name) const {
  void* address = dlsym(functions_, name);
  if (address == nullptr) throw usage_error("device", "{} has no {}: too old for this program", path(), name);
  return address;
}

std::string DynamicLibrary::path() const {
  link_map* map = nullptr;
  return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : file_;
}

void DynamicLibrary::log_version(std::string_view name, std::size_t version) const {
  log::info("{} {}, {}", name, version_text(version), path());
}

std::string version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace octet::cuda

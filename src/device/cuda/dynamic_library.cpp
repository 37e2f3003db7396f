#include "src/device/cuda/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "src/base/error.h"
#include "src/base/log.h"

namespace octet::cuda {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ':');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

/// Installation prefixes of the python3 found on the PATH, its links followed (a virtual environment keeps its
/// packages beside the link, the system beside the target).
std::vector<fs::path> python_prefixes() {
  std::vector<fs::path> prefixes;
  if (const std::string venv = environment("VIRTUAL_ENV"); !venv.empty()) prefixes.emplace_back(venv);
  for (const std::string& folder : split(environment("PATH"))) {
    std::error_code error;
    const fs::path python = fs::path(folder) / "python3";
    if (!fs::exists(python, error)) continue;
    prefixes.push_back(fs::path(folder).parent_path());
    const fs::path real = fs::canonical(python, error);
    if (!error) prefixes.push_back(real.parent_path().parent_path());
    break;
  }
  return prefixes;
}

/// nvidia/NAME/lib (one package a library) and nvidia/cuNN/lib (CUDA 13's) of a folder of Python packages.
void add_nvidia(const fs::path& packages, std::vector<std::string>& folders) {
  std::error_code error;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(packages / "nvidia", error)) {
    const fs::path lib = entry.path() / "lib";
    if (fs::is_directory(lib, error)) found.push_back(lib.string());
  }
  std::sort(found.begin(), found.end());
  folders.insert(folders.end(), found.begin(), found.end());
}

void add_packages_of(const fs::path& prefix, std::vector<std::string>& folders) {
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(prefix / lib, error)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      add_nvidia(entry.path() / "site-packages", folders);
      add_nvidia(entry.path() / "dist-packages", folders);
    }
  }
}

}  // namespace

std::vector<std::string> cuda_library_folders() {
  std::vector<std::string> folders;
  for (const std::string& home : {environment("CUDA_HOME"), environment("CUDA_PATH"), std::string("/usr/local/cuda")}) {
    if (home.empty()) continue;
    for (const char* lib : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
      std::error_code error;
      if (fs::is_directory(fs::path(home) / lib, error)) folders.push_back((fs::path(home) / lib).string());
    }
  }
  for (const std::string& folder : split(environment("PYTHONPATH"))) add_nvidia(folder, folders);
  for (const fs::path& prefix : python_prefixes()) add_packages_of(prefix, folders);
  return folders;
}

DynamicLibrary::DynamicLibrary(std::string file, std::string_view package) : file_(std::move(file)) {
  const std::vector<std::string> folders = cuda_library_folders();
  std::vector<std::string> candidates{file_};
  for (const std::string& folder : folders) {
    std::error_code error;
    if (fs::exists(folder + "/" + file_, error)) candidates.push_back(folder + "/" + file_);
  }
  std::string reason;
  for (const std::string& path : candidates) {
    // Global: cuDNN and cuBLAS open further libraries, which expect to find the first.
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle_ != nullptr) return;
    if (const char* why = dlerror(); why != nullptr) reason = why;
  }
  throw usage_error("device",
                    "{} cannot be loaded: {}; install the CUDA libraries (for example `pip install {}`) or name their "
                    "folder in LD_LIBRARY_PATH. Looked into: {}",
                    file_, reason, package, fmt::join(folders, ", "));
}

void* DynamicLibrary::symbol(const char* name) const {
  void* address = dlsym(handle_, name);
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

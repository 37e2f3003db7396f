#include "src/base/cuda_folders.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace octet {
namespace {

namespace fs = std::filesystem;

/// What is in a folder; nothing where it cannot be read.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator i(folder, error); !error && i != fs::directory_iterator(); i.increment(error)) {
    entries.push_back(i->path());
  }
  return entries;
}

/// Installation prefixes of the python3 found on the PATH, its links followed (a virtual environment keeps its
/// packages beside the link, the system beside the target).
std::vector<fs::path> python_prefixes(const VariableReader& variable, const std::string& root) {
  std::vector<fs::path> prefixes;
  if (const std::string venv = variable("VIRTUAL_ENV"); !venv.empty()) prefixes.emplace_back(root + venv);
  for (const std::string& folder : folders_of_list(variable("PATH"))) {
    std::error_code error;
    const fs::path python = fs::path(root + folder) / "python3";
    if (!fs::exists(python, error)) continue;
    prefixes.push_back(python.parent_path().parent_path());
    const fs::path real = fs::canonical(python, error);
    if (!error && real.string().starts_with(root)) prefixes.push_back(real.parent_path().parent_path());
    break;
  }
  return prefixes;
}

/// nvidia/NAME/lib (one package a library) and nvidia/cuNN/lib (CUDA 13's) of a folder of Python packages.
void add_nvidia(const fs::path& packages, std::vector<std::string>& folders) {
  std::vector<std::string> found;
  for (const fs::path& package : entries_of(packages / "nvidia")) {
    std::error_code error;
    if (fs::is_directory(package / "lib", error)) found.push_back((package / "lib").string());
  }
  std::sort(found.begin(), found.end());
  folders.insert(folders.end(), found.begin(), found.end());
}

void add_packages_of(const fs::path& prefix, std::vector<std::string>& folders) {
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const fs::path& folder : entries_of(prefix / lib)) {
      if (!folder.filename().string().starts_with("python3")) continue;
      add_nvidia(folder / "site-packages", folders);
      add_nvidia(folder / "dist-packages", folders);
    }
  }
}

}  // namespace

std::vector<std::string> cuda_library_folders(const VariableReader& variable, const std::string& root) {
  std::vector<std::string> folders;
  for (const std::string& home : {variable("CUDA_HOME"), variable("CUDA_PATH"), std::string("/usr/local/cuda")}) {
    if (home.empty()) continue;
    for (const char* lib : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
      std::error_code error;
      const fs::path folder = fs::path(root + home) / lib;
      if (fs::is_directory(folder, error)) folders.push_back(folder.string());
    }
  }
  for (const std::string& folder : folders_of_list(variable("PYTHONPATH"))) add_nvidia(root + folder, folders);
  for (const fs::path& prefix : python_prefixes(variable, root)) add_packages_of(prefix, folders);
  for (std::string& folder : folders) folder.erase(0, root.size());
  return folders;
}

}  // namespace octet

#include "src/base/installation.h"

#include <set>

namespace octet {

namespace fs = std::filesystem;

fs::path program_path() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

fs::path beside_programs(std::string_view folder) {
  const fs::path program = program_path();
  return program.empty() ? program : program.parent_path().parent_path() / folder;
}

std::vector<std::string> installed_folders(const std::string& path) {
  std::vector<std::string> out;
  if (const fs::path share = beside_programs("share/octet"); !share.empty()) out.push_back(share / path);
  out.push_back(fs::path(OCTET_SOURCE_DIR) / path);
  return out;
}

std::vector<std::string> shared_folders(const std::string& path) {
  std::vector<std::string> out = installed_folders(path);
  out.insert(out.begin(), path);
  return out;
}

std::string find_shared(const std::string& path) {
  for (const std::string& place : shared_folders(path)) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) return fs::absolute(place).lexically_normal();
  }
  return "";
}

std::vector<std::string> shared_names(const std::string& path, const std::string& extension) {
  std::set<std::string> names;
  for (const std::string& folder : shared_folders(path)) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == extension) names.insert(entry.path().stem());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace octet

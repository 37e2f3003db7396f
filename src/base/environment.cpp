#include "src/base/environment.h"

#include <cstdlib>
#include <sstream>

namespace octet {

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> folders_of_list(const std::string& list) {
  std::vector<std::string> folders;
  std::istringstream in(list);
  for (std::string folder; std::getline(in, folder, ':');) {
    if (!folder.empty()) folders.push_back(folder);
  }
  return folders;
}

}  // namespace octet

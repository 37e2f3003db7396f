#include "src/tuning/tuner_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <vector>

namespace octet {
namespace {

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool is_suffix(const std::string& value) {
  return !value.empty() && value.find('/') == std::string::npos &&
         !(value.starts_with("lib") && value.ends_with(".so"));
}

std::vector<std::string> file_names(const std::string& value) {
  if (value.empty()) return {"libnccl-tuner.so"};
  std::vector<std::string> names{value};
  if (is_suffix(value)) names.push_back("libnccl-tuner-" + value + ".so");
  return names;
}

/// Empty where the loader has none.
std::string load(const std::string& name) {
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return "";
  return map->l_name;
}

}  // namespace

TunerLibrary find_tuner_library(const std::string& value) {
  if (same_word(value, "none")) return {};
  if (same_word(value, "STATIC_PLUGIN")) return {"/proc/self/exe", value};
  TunerLibrary found;
  for (const std::string& name : file_names(value)) {
    found.sought += (found.sought.empty() ? "" : ", ") + name;
    std::error_code error;
    const bool has_folder = name.find('/') != std::string::npos;
    if (has_folder && std::filesystem::is_regular_file(name, error)) found.path = name;
    if (!has_folder) found.path = load(name);
    if (!found.path.empty()) break;
  }
  return found;
}

bool names_octet_tuner(const std::string& value) {
  return std::filesystem::path(value).filename() == octet_tuner_file || value == "octet";
}

}  // namespace octet

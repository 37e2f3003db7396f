#include "src/cluster/doctor/nccl_library.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "src/base/cuda_folders.h"
#include "src/cluster/machine/known_versions.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view file = "libnccl.so.2";

/// What `ldconfig -p` has: "libnccl.so.2 (libc6,x86-64) => /lib/x86_64-linux-gnu/libnccl.so.2".
std::string from_loader(const Machine& machine) {
  for (const std::string& line : lines_of(machine.run("ldconfig", {"ldconfig", "-p"}).out)) {
    const std::size_t arrow = line.find("=> ");
    if (trimmed(line).starts_with(std::string(file) + " ") && arrow != std::string::npos) return line.substr(arrow + 3);
  }
  return "";
}

std::vector<std::string> candidates(const Machine& machine) {
  std::vector<std::string> out;
  for (const std::string& folder : split(machine.variable("LD_LIBRARY_PATH"), ':')) {
    if (!folder.empty()) out.push_back(folder + "/" + std::string(file));
  }
  out.push_back(from_loader(machine));
  const auto variable = [&](const char* name) { return machine.variable(name); };
  for (const std::string& folder : cuda_library_folders(variable, machine.path(""))) {
    out.push_back(folder + "/" + std::string(file));
  }
  return out;
}

/// The version in the text "NCCL version 2.28.9+cuda13.0" of the library.
std::string version_in(const std::string& path) {
  constexpr std::string_view text = "NCCL version ";
  const std::boyer_moore_horspool_searcher searcher(text.begin(), text.end());
  std::ifstream in(path, std::ios::binary);
  std::string block;
  std::vector<char> next(std::size_t{1} << 22);
  while (in.read(next.data(), static_cast<std::streamsize>(next.size())), in.gcount() > 0) {
    block.append(next.data(), static_cast<std::size_t>(in.gcount()));
    for (auto at = block.begin(); (at = std::search(at, block.end(), searcher)) != block.end(); ++at) {
      const std::size_t place = static_cast<std::size_t>(at - block.begin()) + text.size();
      if (place + 16 > block.size()) break;  // what follows is in the next block
      const std::string_view behind = std::string_view(block).substr(place, 16);
      if (behind[0] >= '0' && behind[0] <= '9') return to_text(parse_version(behind));
    }
    block.erase(0, block.size() - std::min<std::size_t>(block.size(), 64));
  }
  return "";
}

}  // namespace

NcclLibrary find_nccl(const Machine& machine) {
  for (const std::string& path : candidates(machine)) {
    std::error_code error;
    if (path.empty() || !fs::is_regular_file(machine.path(path), error)) continue;
    return {path, version_in(machine.path(path))};
  }
  return {};
}

}  // namespace octet

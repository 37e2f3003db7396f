#include "src/cluster/environment/named_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

/// A variable that names files, and what NCCL does without the file.
struct NamedFile {
  const char* name;
  bool plugins;        ///< a list of plugins, of which those with a slash are paths; else one file
  FindingState state;  ///< bad: training fails without it, or may be many times slower
  const char* without;
};

constexpr NamedFile named_files[] = {
    {"NCCL_TOPO_FILE", false, FindingState::bad,
     "NCCL goes on without it, and says so in a log at INFO alone; /var/run/nvidia-topologyd/virtualTopology.xml is "
     "not "
     "read in its place"},
    {"NCCL_GRAPH_FILE", false, FindingState::bad, "NCCL ends at start"},
    {"NCCL_NET_PLUGIN", true, FindingState::bad,
     "NCCL goes on over another network, or ends where NCCL_NET names the plugin's"},
    {"NCCL_TUNER_PLUGIN", true, FindingState::warning,
     "NCCL goes on with its own choice of algorithms, and says so in a log at INFO alone"},
    {"NCCL_PROFILER_PLUGIN", true, FindingState::warning, "NCCL goes on without the plugin"},
    {"NCCL_GIN_PLUGIN", true, FindingState::warning, "NCCL goes on without the plugin"},
    {"NCCL_ENV_PLUGIN", true, FindingState::warning, "NCCL goes on without the plugin and the variables that it sets"},
};

/// Why a file cannot be read; empty where it can.
std::string problem_of(const Machine& machine, const std::string& file) {
  if (!file.starts_with('/') && !machine.is_live()) return "";
  std::error_code error;
  const std::string path = machine.path(file);
  if (std::filesystem::is_directory(path, error)) return fmt::format("{} is a folder", file);
  errno = 0;
  if (std::ifstream(path).is_open()) return "";
  return fmt::format("{}: {}", file, std::strerror(errno == 0 ? ENOENT : errno));
}

std::vector<std::string> files_of(const NamedFile& named, const std::string& value) {
  if (!named.plugins) return {value};
  std::vector<std::string> out;
  for (const std::string& plugin : split(value, ',')) {
    if (plugin.find('/') != std::string::npos) out.push_back(plugin);
  }
  return out;
}

}  // namespace

Findings file_findings(const Environment& environment, const Machine& machine) {
  Findings out;
  for (const NamedFile& named : named_files) {
    const auto found = environment.find(named.name);
    if (found == environment.end()) continue;
    for (const std::string& file : files_of(named, found->second)) {
      const std::string problem = file.empty() ? "the name is empty" : problem_of(machine, file);
      if (problem.empty()) continue;
      out.push_back({named.name, file.empty() ? FindingState::warning : named.state, found->second,
                     "a file that can be read on this machine", fmt::format("{}: {}", problem, named.without)});
    }
  }
  return out;
}

}  // namespace octet

#include "src/cluster/environment/effective.h"

#include "src/cluster/doctor/lines.h"

namespace octet {
namespace {

/// Lines NAME=VALUE; those that begin with # are comments. What is there already stays.
void add_file(const Machine& machine, const std::string& path, Environment& out) {
  for (const std::string& line : lines_of(machine.read(path).value_or(""))) {
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string::npos) continue;
    const std::string name = trimmed(line.substr(0, equals));
    if (name.starts_with("NCCL_")) out.emplace(name, trimmed(line.substr(equals + 1)));
  }
}

}  // namespace

Environment effective_environment(const Machine& machine) {
  Environment out;
  for (const auto& [name, value] : machine.environment()) {
    if (is_linted(name)) out.emplace(name, value);
  }
  const std::string file = machine.variable("NCCL_CONF_FILE");
  add_file(machine, file.empty() ? machine.variable("HOME") + "/.nccl.conf" : file, out);
  add_file(machine, "/etc/nccl.conf", out);
  return out;
}

}  // namespace octet

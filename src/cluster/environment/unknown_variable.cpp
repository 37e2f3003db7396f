#include "src/cluster/environment/unknown_variable.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "src/base/options/text.h"
#include "src/cluster/environment/pair_rules.h"
#include "src/cluster/environment/value_check.h"

namespace octet {
namespace {

constexpr std::array<std::pair<std::string_view, Reader>, 7> prefixes{{{"NCCL_", Reader::nccl},
                                                                       {"TORCH_NCCL_", Reader::pytorch},
                                                                       {"UCX_", Reader::ucx},
                                                                       {"MPICH_", Reader::mpich},
                                                                       {"MPIR_", Reader::mpich},
                                                                       {"FI_", Reader::libfabric},
                                                                       {"OFI_NCCL_", Reader::nccl}}};

/// Beginnings of names that Google's network plugins read, and where their source is.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> of_google{
    {{"NCCL_FASTRAK_", "google/nccl-plugin-gpudirect-tcpxo"},
     {"NCCL_GPUDIRECTTCPX_", "google/nccl-plugin-gpudirecttcpx"}}};

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool is_own_network(const std::string& net) {
  return same_text(net, "IB") || same_text(net, "Socket");
}

/// Networks that read no name of NCCL's form but the table's: its own, that of the SHARP plugin (IBext_vN), and
/// aws-ofi-nccl, whose names begin otherwise.
bool is_known_network(const std::string& net) {
  return is_own_network(net) || is_libfabric(net) || same_text(net.substr(0, 5), "IBext");
}

/// Octet's tuner and aws-ofi-nccl's read none either. A tuner is named by its file or by a part of the file's name.
bool is_known_tuner(const std::string& tuner) {
  const std::string file = tuner.substr(tuner.rfind('/') + 1);
  return same_text(file, "none") || file == "octet" || file == "ofi" || file.find("-octet") != std::string::npos ||
         file.find("-ofi") != std::string::npos;
}

/// The variable by which NCCL loads a plugin whose names are not known: "NCCL_NET=FasTrak"; empty where there is none.
std::string plugin_in_use(const Environment& environment) {
  const std::string net = value_of(environment, "NCCL_NET"), tuner = value_of(environment, "NCCL_TUNER_PLUGIN");
  if (!net.empty() && !is_known_network(net)) return "NCCL_NET=" + net;
  if (!tuner.empty() && !is_known_tuner(tuner) && !is_libfabric(net)) return "NCCL_TUNER_PLUGIN=" + tuner;
  for (const char* name : {"NCCL_TUNER_CONFIG_PATH", "NCCL_TUNER_CONFIG_FILE"}) {
    if (!value_of(environment, name).empty()) return name;
  }
  return "";
}

/// Of a name of Google's network plugins, which have no effect while NCCL uses a network of its own.
Finding of_plugin(const Environment& environment, const std::string& name, std::string_view source) {
  const std::string value = value_of(environment, name), net = value_of(environment, "NCCL_NET");
  const std::string reader = fmt::format("read by a network plugin of Google's ({})", source);
  if (!is_own_network(net)) return {name, FindingState::ok, value, "", reader};
  return {name, FindingState::warning, value, "the plugin's network in NCCL_NET",
          fmt::format("has no effect: {}, and NCCL_NET={} is NCCL's own network", reader, net)};
}

}  // namespace

std::optional<Reader> reader_of(const std::string& name) {
  for (const auto& [prefix, reader] : prefixes) {
    if (name.starts_with(prefix)) return reader;
  }
  return same_text(name.substr(0, 5), "NCCL_") ? std::optional(Reader::nccl) : std::nullopt;
}

Finding unknown_variable(const VariableTable& table, const Environment& environment, const std::string& name) {
  std::vector<std::string> names;
  for (const Variable& v : table.variables) names.push_back(v.name);
  const std::string near = nearest(name, names);
  const std::string hint = edit_distance(name, near) <= 2 ? fmt::format("; nearest: {}", near) : "";
  const std::string value = value_of(environment, name);
  const bool of_ofi = name.starts_with("OFI_");
  const Reader reader = reader_of(name).value();
  if (reader != Reader::nccl || of_ofi) {
    return {
        name, FindingState::warning, value, "",
        fmt::format("not in Octet's list of the variables of {}{}", of_ofi ? "aws-ofi-nccl" : name_of(reader), hint)};
  }
  for (const auto& [prefix, source] : of_google) {
    if (name.starts_with(prefix)) return of_plugin(environment, name, source);
  }
  if (const std::string plugin = plugin_in_use(environment); hint.empty() && !plugin.empty()) {
    return {name, FindingState::ok, value, "", fmt::format("NCCL does not read it; its plugin may ({})", plugin)};
  }
  return {name, FindingState::warning, value, "a variable that NCCL has",
          "no release of NCCL from 2.18 to 2.30 reads it" + hint};
}

}  // namespace octet

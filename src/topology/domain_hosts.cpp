#include "src/topology/domain_hosts.h"

#include <algorithm>

namespace octet {

bool is_of(const Cpu& cpu, const NodeTopology& host) {
  const auto named = std::ranges::find_if(host.cpus, [](const Cpu& c) { return !c.host_hash.empty(); });
  return cpu.host_hash.empty() || named == host.cpus.end() || named->host_hash == cpu.host_hash;
}

std::vector<NodeTopology> hosts_of(const NodeTopology& topology) {
  std::vector<NodeTopology> hosts;
  for (const Cpu& cpu : topology.cpus) {
    auto host = std::ranges::find_if(hosts, [&](const NodeTopology& h) { return is_of(cpu, h); });
    if (host == hosts.end()) host = hosts.insert(hosts.end(), NodeTopology{.source = topology.source, .cpus = {}});
    host->cpus.push_back(cpu);
  }
  return hosts;
}

}  // namespace octet

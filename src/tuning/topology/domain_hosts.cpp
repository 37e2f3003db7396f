#include "src/tuning/topology/domain_hosts.h"

#include <algorithm>

namespace octet {

std::vector<NodeTopology> hosts_of(const NodeTopology& topology) {
  std::vector<NodeTopology> hosts;
  for (const Cpu& cpu : topology.cpus) {
    const auto same = [&](const NodeTopology& host) { return host.cpus.front().host_hash == cpu.host_hash; };
    auto host = std::ranges::find_if(hosts, same);
    if (host == hosts.end()) host = hosts.insert(hosts.end(), NodeTopology{.source = topology.source, .cpus = {}});
    host->cpus.push_back(cpu);
  }
  return hosts;
}

}  // namespace octet

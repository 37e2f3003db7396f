#include <fmt/format.h>

#include <algorithm>

#include "src/topology/domain_hosts.h"
#include "src/topology/topology_lint.h"

namespace octet {
namespace {

Findings lint_host(const NodeTopology& host, const ClusterProfile* expected) {
  const Places places(host);
  Findings findings = lint_node(host, places, expected);
  for (const Findings& part : {lint_links(places), lint_cards(places, expected)}) {
    findings.insert(findings.end(), part.begin(), part.end());
  }
  return findings;
}

/// A finding and the hosts that have it.
struct Shared {
  Finding finding;
  std::vector<std::string> hosts;
};

bool is_same(const Finding& a, const Finding& b) {
  return a.check == b.check && a.state == b.state && a.seen == b.seen && a.expected == b.expected;
}

/// What all hosts have alike is one finding; another says which hosts it is of.
Findings lint_hosts(const std::vector<NodeTopology>& hosts, const ClusterProfile* expected) {
  std::vector<Shared> all;
  for (const NodeTopology& host : hosts) {
    for (const Finding& finding : lint_host(host, expected)) {
      auto found = std::ranges::find_if(all, [&](const Shared& s) { return is_same(s.finding, finding); });
      if (found == all.end()) found = all.insert(all.end(), Shared{finding, {}});
      found->hosts.push_back(host.cpus.front().host_hash);
    }
  }
  Findings findings = {
      {"topology.hosts", FindingState::warning,
       fmt::format("{} hosts of one NVLink domain, each judged for itself", hosts.size()),
       "one host in a file for NCCL_TOPO_FILE",
       "a dump of such nodes is right as it is; for NCCL_TOPO_FILE write the first host's part by --xml"}};
  for (Shared& shared : all) {
    if (shared.hosts.size() < hosts.size()) {
      shared.finding.seen = fmt::format("host {}: {}", some_of(shared.hosts), shared.finding.seen);
    }
    findings.push_back(std::move(shared.finding));
  }
  return findings;
}

}  // namespace

Findings lint_topology(const NodeTopology& topology, const ClusterProfile* expected) {
  const std::vector<NodeTopology> hosts = hosts_of(topology);
  return hosts.size() > 1 ? lint_hosts(hosts, expected) : lint_host(topology, expected);
}

}  // namespace octet

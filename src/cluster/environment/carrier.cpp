#include "src/cluster/environment/carrier.h"

#include <fmt/format.h>

#include "src/cluster/environment/pair_rules.h"
#include "src/cluster/environment/value_check.h"

namespace octet {
namespace {

Transport transport_of(Fabric fabric) {
  switch (fabric) {
    case Fabric::infiniband:
      return Transport::verbs;
    case Fabric::roce:
    case Fabric::custom:
      return Transport::roce;
    case Fabric::efa:
      return Transport::efa;
    default:
      return Transport::socket;
  }
}

/// NCCL's own network of verbs, and those of plugins that use verbs too: HPC-X's (IBext_v10) and Google's for A3 Ultra
/// and A4.
bool is_verbs(const std::string& net) {
  return same_text(net, "IB") || same_text(net, "gIB") || in_small_letters(net).starts_with("ibext");
}

}  // namespace

std::optional<Carrier> carrier_of(const Environment& environment, const ClusterProfile* profile) {
  const auto net = environment.find("NCCL_NET");
  if (net != environment.end()) {
    const std::string text = "NCCL_NET=" + net->second;
    const bool roce = profile == nullptr || profile->fabric != Fabric::infiniband;
    if (same_text(net->second, "Socket")) return {{Transport::socket, text}};
    if (is_verbs(net->second)) return {{roce ? Transport::roce : Transport::verbs, text}};
    if (is_libfabric(net->second)) return {{Transport::efa, text}};
    return std::nullopt;  // some plugin's network: Google's GPUDirect-TCPX reads NCCL's variables of sockets
  }
  if (profile == nullptr || profile->fabric == Fabric::none) return std::nullopt;
  return {{transport_of(profile->fabric), fmt::format("fabric of {}: {}", profile->name, name_of(profile->fabric))}};
}

bool carries(const std::optional<Carrier>& carrier, Transport wanted) {
  if (wanted == Transport::any || !carrier) return true;
  return carrier->transport == wanted || (wanted == Transport::verbs && carrier->transport == Transport::roce);
}

}  // namespace octet

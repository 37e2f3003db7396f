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

}  // namespace

std::optional<Carrier> carrier_of(const Environment& environment, const ClusterProfile* profile) {
  const auto net = environment.find("NCCL_NET");
  if (net != environment.end()) {
    const std::string text = "NCCL_NET=" + net->second;
    const bool roce = profile == nullptr || profile->fabric != Fabric::infiniband;
    if (same_text(net->second, "Socket")) return {{Transport::socket, text}};
    if (same_text(net->second, "IB")) return {{roce ? Transport::roce : Transport::verbs, text}};
    if (is_libfabric(net->second)) return {{Transport::efa, text}};
  }
  if (profile == nullptr || profile->fabric == Fabric::none) return std::nullopt;
  return {{transport_of(profile->fabric), fmt::format("fabric of {}: {}", profile->name, name_of(profile->fabric))}};
}

bool carries(const std::optional<Carrier>& carrier, Transport wanted) {
  if (wanted == Transport::any || !carrier) return true;
  return carrier->transport == wanted || (wanted == Transport::verbs && carrier->transport == Transport::roce);
}

}  // namespace octet

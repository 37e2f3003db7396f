#pragma once

#include <optional>
#include <string>

#include "src/cluster/environment/variable_table.h"
#include "src/cluster/profile.h"

namespace octet {

/// What carries NCCL's traffic between nodes, and the text that says so: "NCCL_NET=Socket".
struct Carrier {
  Transport transport = Transport::any;
  std::string text;
};

/// By NCCL_NET, or else by the profile's fabric (null: no profile); nothing where it is not known, as of a plugin's
/// network that is neither verbs nor libfabric.
std::optional<Carrier> carrier_of(const Environment& environment, const ClusterProfile* profile);

/// Whether a variable of that transport has an effect there.
bool carries(const std::optional<Carrier>& carrier, Transport wanted);

}  // namespace octet

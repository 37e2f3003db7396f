#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// A device and its first port as the program ibstat (infiniband-diags) prints them.
struct IbstatPort {
  std::string card;            ///< "mlx5_0"
  std::string physical_state;  ///< LinkUp, Polling, Disabled, LinkErrorRecovery, ...
  std::string subnet_manager;  ///< its LID, "0" where the port has found none; Ethernet has none either
  std::string link_layer;      ///< InfiniBand, Ethernet
};

std::vector<IbstatPort> parse_ibstat(std::string_view text);

}  // namespace octet

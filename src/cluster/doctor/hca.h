#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/doctor/examination.h"
#include "src/cluster/machine/machine.h"

namespace octet {

/// A verbs device with its first port, as /sys/class/infiniband shows it (Linux, Documentation/ABI/stable/
/// sysfs-class-infiniband).
struct Hca {
  std::string name, state, link_layer, firmware;  ///< state: ACTIVE, DOWN, INIT, ARMED
  std::string rate;                               ///< "400 Gb/sec (4X NDR)"
  std::string model;                              ///< board_id, such as "MT_0000000838"; empty: unknown
  std::map<std::string, long long> errors;        ///< counters of the link, by their file's name

  bool active() const { return state == "ACTIVE"; }
  long long gbps() const;  ///< Gb/s; 0: unknown
};

std::vector<Hca> read_hcas(const Machine& machine);

/// Of these the cards that training uses, as far as that is known: those that the profile names, else all.
std::vector<Hca> used_hcas(const Examination& e, std::vector<Hca> all);

/// What to do where RoCE loses packets.
inline constexpr std::string_view advice_for_losses =
    "does the job's traffic class (nics.traffic_class = 4 * DSCP + ECN) go into the class for which cards and switches "
    "have PFC and ECN on? mlnx_qos -i INTERFACE, the switches' map of DSCP, ethtool -S INTERFACE (docs/tuning/roce.md)";

/// Counters that went up from one reading to the other: "mlx5_0 symbol_error +12".
std::vector<std::string> risen_errors(const std::vector<Hca>& before, const std::vector<Hca>& after);

}  // namespace octet

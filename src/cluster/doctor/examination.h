#pragma once

#include <optional>
#include <string>

#include "src/cluster/machine/finding.h"
#include "src/cluster/machine/machine.h"
#include "src/cluster/profile.h"

namespace octet {

/// What a check looks at. Checks change nothing, take seconds, and may run at the same time on several threads.
struct Examination {
  const Machine& machine;
  const ClusterProfile* profile = nullptr;  ///< what the machine should be; null: nobody says
  std::string run_dir;                      ///< absolute; its file system is checked

  /// Says whether the profile has GPUs, or cards for traffic between nodes.
  bool expects_gpus() const { return profile != nullptr && profile->gpus.per_node > 0; }
  bool expects_cards() const { return profile != nullptr && profile->nics.per_node > 0; }
  /// The GPUs that the profile has; where it has none or nobody names one, those that the driver has.
  std::size_t gpus() const;
  /// Says whether these cards are devices in /sys/class/infiniband: all but those of a custom fabric whose profile
  /// names none and whose job takes sockets or the network of a plugin, of which Octet knows nothing.
  bool expects_devices() const;
  /// Says whether these devices are used through verbs: InfiniBand, RoCE and a site's own network.
  bool expects_verbs() const;
  /// What a variable is in the profile's job; nothing where the job has no such variable.
  std::optional<std::string> job_value(const std::string& name) const;
};

}  // namespace octet

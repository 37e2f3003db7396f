#include "src/cluster/doctor/examination.h"

#include <algorithm>
#include <vector>

#include "src/cluster/environment/job_environment.h"
#include "src/cluster/environment/value_check.h"

namespace octet {

std::optional<std::string> Examination::job_value(const std::string& name) const {
  if (profile == nullptr) return std::nullopt;
  const std::vector<EnvironmentValue> job = job_environment(*profile, run_dir);
  const auto found = std::ranges::find(job, name, &EnvironmentValue::name);
  return found == job.end() ? std::nullopt : std::optional(found->value);
}

std::size_t Examination::gpus() const {
  if (expects_gpus()) return static_cast<std::size_t>(profile->gpus.per_node);
  return machine.list("/proc/driver/nvidia/gpus").size();
}

bool Examination::expects_devices() const {
  if (!expects_cards()) return false;
  if (profile->fabric != Fabric::custom || !profile->nics.hca.empty()) return true;
  if (const auto net = job_value("NCCL_NET")) return same_text(*net, "IB");
  const auto plugin = job_value("NCCL_NET_PLUGIN");
  return !plugin || plugin->empty() || same_text(*plugin, "none");  // NCCL asks a plugin before its own network
}

bool Examination::expects_verbs() const {
  return expects_devices() && (profile->fabric == Fabric::infiniband || profile->fabric == Fabric::roce ||
                               profile->fabric == Fabric::custom);
}

}  // namespace octet

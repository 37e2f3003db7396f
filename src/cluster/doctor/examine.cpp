#include <algorithm>
#include <array>
#include <future>
#include <iterator>
#include <vector>

#include "src/cluster/doctor/examine.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/environment/value_check.h"

namespace octet {

std::optional<std::string> Examination::job_value(const std::string& name) const {
  if (profile == nullptr) return std::nullopt;
  const std::vector<EnvironmentValue> job = job_environment(*profile, run_dir);
  const auto found = std::ranges::find(job, name, &EnvironmentValue::name);
  return found == job.end() ? std::nullopt : std::optional(found->value);
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

Findings examine(const Examination& e) {
  using Check = Findings (*)(const Examination&);
  constexpr auto checks =
      std::to_array<Check>({check_gpus, check_xids, check_nvlinks, check_hcas, check_retransmissions, check_hca_links,
                            check_frontend, check_pci, check_versions, check_nccl_files, check_limits, check_host,
                            check_near, check_clock, check_launch, check_storage});
  // Side by side, since the checks mostly wait for programs.
  std::vector<std::future<Findings>> results;
  results.reserve(checks.size());
  for (const auto check : checks) results.push_back(std::async(std::launch::async, check, std::cref(e)));
  Findings out;
  for (auto& result : results) {
    for (Finding& f : result.get()) out.push_back(std::move(f));
  }
  return out;
}

}  // namespace octet

#include <array>
#include <future>
#include <iterator>
#include <vector>

#include "src/cluster/doctor/examine.h"

namespace octet {

bool Examination::expects_verbs() const {
  return expects_cards() && (profile->fabric == Fabric::infiniband || profile->fabric == Fabric::roce ||
                             profile->fabric == Fabric::custom);
}

Findings examine(const Examination& e) {
  using Check = Findings (*)(const Examination&);
  constexpr std::array<Check, 15> checks = {
      check_gpus,      check_xids, check_nvlinks,  check_hcas,       check_retransmissions,
      check_hca_links, check_pci,  check_versions, check_nccl_files, check_limits,
      check_host,      check_near, check_clock,    check_launch,     check_storage};
  // Most of their time is that of programs that they wait for.
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

#include "src/cluster/doctor/doctor_checks.h"

#include <functional>
#include <future>
#include <utility>

namespace octet {

const std::vector<DoctorCheck>& doctor_checks() {
#define OCTET_CHECK(function, ...) {node_checks::function, {__VA_ARGS__}},
  static const std::vector<DoctorCheck> checks = {OCTET_DOCTOR_CHECKS(OCTET_CHECK)};
#undef OCTET_CHECK
  return checks;
}

Findings examine(const Examination& e) {
  // Side by side, since the checks mostly wait for programs.
  std::vector<std::future<Findings>> results;
  results.reserve(doctor_checks().size());
  for (const DoctorCheck& check : doctor_checks()) {
    results.push_back(std::async(std::launch::async, check.look, std::cref(e)));
  }
  Findings out;
  for (auto& result : results) {
    for (Finding& f : result.get()) out.push_back(std::move(f));
  }
  return out;
}

}  // namespace octet

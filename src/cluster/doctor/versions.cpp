#include <fmt/format.h>

#include <initializer_list>
#include <iterator>
#include <span>

#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/doctor/nccl_library.h"
#include "src/cluster/machine/known_versions.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

/// What is bad on the host need not be so in the container.
void soften(Finding& finding) {
  if (finding.state != FindingState::bad) return;
  finding.state = FindingState::warning;
  finding.advice += "; does the container have another?";
}

/// The version behind the first of these keys that nvidia-smi has, without the note that R610 puts behind it:
/// "610.57.04 [Deprecated; will be removed in CUDA 14.0. Use KMD Version instead]".
std::string version_after(const std::string& text, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const std::string value = value_after(text, key);
    if (!value.empty()) return value.substr(0, value.find(" ["));
  }
  return "";
}

}  // namespace

Findings node_checks::check_versions(const Examination& e) {
  const auto list = read_known_versions();
  const ProgramResult smi = e.machine.run("nvidia-smi-compute", {"nvidia-smi", "-q", "-d", "COMPUTE"});
  Findings out;
  const auto add = [&](const std::string& software, const std::string& version, const std::string& absent,
                       const std::string& advice) {
    if (version.empty()) {
      out.push_back(missing("versions." + software, e.expects_gpus(), absent, "one that GPUs can use", advice));
      return;
    }
    const Findings found = judge_version(list, software, version);
    out.insert(out.end(), found.begin(), found.end());
  };
  const std::string no_driver = smi.succeeded() ? "nvidia-smi does not say" : smi.failure("nvidia-smi");
  add("driver", version_after(smi.out, {"KMD Version", "Driver Version"}), no_driver,
      "install NVIDIA's driver, or load its module");
  add("cuda", version_after(smi.out, {"CUDA UMD Version", "CUDA Version"}), no_driver,
      "install NVIDIA's driver, or load its module");
  const NcclLibrary nccl = find_nccl(e.machine);
  const std::size_t before_nccl = out.size();
  add("nccl", nccl.version, nccl.path.empty() ? "libnccl.so.2 is not there" : nccl.path + " does not say its version",
      "install libnccl2 or Python's package nvidia-nccl-cu13, or load the site's module");
  // With software.container octet is on the host, and the training with its NCCL in the container.
  if (e.profile != nullptr && !e.profile->software.container.empty()) {
    for (Finding& f : std::span(out).subspan(before_nccl)) soften(f);
  }
  return out;
}

}  // namespace octet

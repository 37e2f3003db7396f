#include <fmt/format.h>

#include <algorithm>

#include "src/base/options/text.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

struct Gpu {
  std::string index, name;
  int up = 0, down = 0;
};

/// From `nvidia-smi nvlink --status`: "GPU 0: NVIDIA H100 80GB HBM3 (UUID: ...)", then "Link 0: 26.562 GB/s" or
/// "Link 0: <inactive>" for each.
std::vector<Gpu> parse(const std::string& text) {
  std::vector<Gpu> out;
  for (const std::string& line : lines_of(text)) {
    const std::string t = trimmed(line);
    if (t.starts_with("GPU ") && t.find(':') != std::string::npos) {
      const std::size_t colon = t.find(':');
      out.push_back({t.substr(4, colon - 4), trimmed(t.substr(colon + 1, t.find("(UUID") - colon - 1))});
    } else if (t.starts_with("Link ") && !out.empty()) {
      ++(t.find("GB/s") != std::string::npos ? out.back().up : out.back().down);
    }
  }
  return out;
}

/// NVLinks of a GPU on a baseboard (NVIDIA's data sheets); 0 where the name does not say: PCIe cards may have none.
int links_of(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("PCIe") || has("NVL")) return 0;
  if (has("GH200")) return 0;  // linked to its own CPU, and only on some boards to other GPUs
  if (has("H100") || has("H200") || has("H800") || has("B200") || has("B300")) return has("H800") ? 8 : 18;
  return has("A100-SXM") ? 12 : 0;
}

}  // namespace

Findings node_checks::check_nvlinks(const Examination& e) {
  const bool several = e.expects_gpus() && e.profile->gpus.per_node > 1;
  const ProgramResult result = e.machine.run("nvidia-smi-nvlink", {"nvidia-smi", "nvlink", "--status"});
  const std::vector<Gpu> gpus = result.succeeded() ? parse(result.out) : std::vector<Gpu>();
  if (gpus.empty()) {
    return {{"gpu.nvlink", FindingState::absent,
             result.succeeded() ? "nvidia-smi lists no link" : result.failure("nvidia-smi"), "", ""}};
  }
  const int most = std::ranges::max(gpus, {}, &Gpu::up).up;
  std::vector<std::string> faults;
  int expected = most;
  for (const Gpu& gpu : gpus) {
    expected = std::max(most, links_of(gpu.name));
    if (gpu.up < expected) faults.push_back(fmt::format("GPU {}: {} up, {} down", gpu.index, gpu.up, gpu.down));
  }
  if (most == 0 && faults.empty()) {
    return {missing("gpu.nvlink", false, fmt::format("{}: no link is up", gpus[0].name), "", "")};
  }
  if (faults.empty()) return {good("gpu.nvlink", fmt::format("{} up on each of {} GPUs", most, gpus.size()))};
  return {{"gpu.nvlink", several || most > 0 ? FindingState::bad : FindingState::warning, joined(faults, "; "),
           fmt::format("{} up on each GPU", expected),
           "leave the node out; restart the fabric manager (systemctl status nvidia-fabricmanager), reset the GPUs, or "
           "reboot"}};
}

}  // namespace octet

#include <fmt/format.h>

#include <algorithm>

#include "src/base/options/text.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/machine/known_versions.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

/// What `lspci -vvv` says that matters here.
struct Bus {
  bool gpus = false;                   ///< of NVIDIA
  bool readable = true;                ///< false: capabilities are for root
  std::vector<std::string> redirects;  ///< bridges that send traffic between devices up to the root
};

Bus parse(const std::string& text) {
  Bus bus;
  std::string device;
  for (const std::string& line : lines_of(text)) {
    if (line[0] != '\t' && line[0] != ' ') {
      device = line;
      const bool gpu = device.find("3D controller: NVIDIA") != std::string::npos ||
                       device.find("VGA compatible controller: NVIDIA") != std::string::npos;
      bus.gpus = bus.gpus || gpu;
    }
    if (line.find("Capabilities: <access denied>") != std::string::npos) bus.readable = false;
    const bool redirects = line.find("ACSCtl:") != std::string::npos &&
                           (line.find("ReqRedir+") != std::string::npos || line.find("SrcValid+") != std::string::npos);
    if (redirects && device.find("PCI bridge") != std::string::npos) {
      bus.redirects.push_back(device.substr(0, device.find(' ')));
    }
  }
  return bus;
}

bool is_virtual(const Machine& machine) {
  return machine.read("/proc/cpuinfo").value_or("").find(" hypervisor") != std::string::npos;
}

Finding check_acs(const Examination& e) {
  const ProgramResult result = e.machine.run("lspci", {"lspci", "-vvv"});
  if (!result.succeeded()) return missing("pci.acs", false, result.failure("lspci (package pciutils)"), "", "");
  const Bus bus = parse(result.out);
  if (!bus.gpus) return missing("pci.acs", false, "no NVIDIA GPU on the bus", "", "");
  if (!bus.readable && bus.redirects.empty()) {
    return {"pci.acs", FindingState::absent, "lspci shows capabilities to root alone", "",
            "run octet doctor as root once"};
  }
  if (bus.redirects.empty()) return good("pci.acs", "off on all bridges");
  const auto count = bus.redirects.size();
  const std::string some =
      joined({bus.redirects.begin(), bus.redirects.begin() + static_cast<long>(std::min<std::size_t>(count, 4))});
  const std::string seen = fmt::format("on, on {} bridges: {}{}", count, some, count > 4 ? ", ..." : "");
  if (is_virtual(e.machine)) {
    return {"pci.acs", FindingState::warning, seen, "with ACS, as a virtual machine needs it, also ATS",
            "turn ATS on in the cards' firmware (mlxconfig ATS_ENABLED=1) and give NCCL the machine's NCCL_TOPO_FILE"};
  }
  return {"pci.acs", FindingState::bad, seen, "off on all bridges",
          "traffic between GPU and card goes through the CPU, or hangs: turn ACS off in the BIOS, or with setpci "
          "(docs.nvidia.com, NCCL, GPU troubleshooting: ACS)"};
}

/// Cards reach the GPUs' memory through the module nvidia_peermem, or dma-buf: open kernel modules and Linux 5.12.
Finding check_gpu_direct(const Examination& e) {
  const char* check = "pci.gpu_direct";
  const auto driver = e.machine.read("/proc/driver/nvidia/version");
  const bool cards = !e.machine.list("/sys/class/infiniband").empty();
  if (!driver || !cards) {
    return missing(check, false, !driver ? "no NVIDIA driver" : "no device in /sys/class/infiniband", "", "");
  }
  const std::string modules = e.machine.read("/proc/modules").value_or("");
  for (const char* module : {"nvidia_peermem", "nv_peer_mem", "efa_nv_peermem"}) {
    if (("\n" + modules).find(std::string("\n") + module + " ") != std::string::npos) {
      return good(check, std::string("module ") + module);
    }
  }
  const Version kernel = parse_version(e.machine.read("/proc/sys/kernel/osrelease").value_or(""));
  const bool open = driver->find("Open Kernel Module") != std::string::npos;
  if (open && kernel >= Version{5, 12}) return good(check, "dma-buf: open kernel modules, Linux " + to_text(kernel));
  // NCCL compares the level with capital letters; 0 is its old number.
  if (const auto level = e.job_value("NCCL_NET_GDR_LEVEL"); level == "LOC" || level == "0") {
    return good(check, fmt::format("not used: NCCL_NET_GDR_LEVEL={}, as {} says", *level, e.profile->name));
  }
  return {check, e.expects_verbs() ? FindingState::bad : FindingState::warning,
          fmt::format("no nvidia_peermem; {} kernel modules, Linux {}", open ? "open" : "closed", to_text(kernel)),
          "the module nvidia_peermem, or open kernel modules of the driver with Linux 5.12",
          "modprobe nvidia_peermem; without it all traffic between nodes takes a copy through host memory"};
}

}  // namespace

/// Whether GPU and card exchange data without a detour (docs.nvidia.com, NCCL, GPU troubleshooting).
Findings node_checks::check_pci(const Examination& e) {
  return {check_acs(e), check_gpu_direct(e)};
}

}  // namespace octet

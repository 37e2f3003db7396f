#include "src/topology/discover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "src/base/options/text.h"
#include "src/cluster/doctor/hca.h"
#include "src/topology/hwloc_tree.h"

namespace octet {
namespace {

constexpr unsigned nvidia = 0x10de;

/// Names of the verbs devices of a card.
std::vector<std::string> verbs_names(hwloc_obj_t device) {
  std::vector<std::string> names;
  for (hwloc_obj_t o = device->io_first_child; o != nullptr; o = o->next_sibling) {
    const bool verbs = o->type == HWLOC_OBJ_OS_DEVICE && o->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
    if (verbs && o->name != nullptr) names.emplace_back(o->name);
  }
  return names;
}

class Discovery {
 public:
  explicit Discovery(const Machine& machine) : machine_(machine), tree_(machine), hcas_(read_hcas(machine)) {}

  NodeTopology run() {
    topology_.source = machine_.name();
    for (const hwloc_obj_t numa : tree_.numa_nodes()) {
      Cpu& cpu = cpu_of(static_cast<std::int64_t>(numa->os_index));
      cpu.affinity = mask_of(numa);
    }
    for (const hwloc_obj_t device : tree_.pci_devices()) {
      const unsigned kind = pci_of(device).class_id >> 8;
      if (kind == 0x03 && pci_of(device).vendor_id == nvidia) insert_gpu(device);
      if (kind == 0x02) insert_nic(device);
    }
    return std::move(topology_);
  }

 private:
  Cpu& cpu_of(std::int64_t numa) {
    const auto found = std::ranges::find(topology_.cpus, numa, &Cpu::numa);
    if (found != topology_.cpus.end()) return *found;
    Cpu cpu;
    cpu.numa = numa;
    cpu.arch = tree_.fact("Architecture") == "aarch64" ? "arm64" : tree_.fact("Architecture");
    cpu.vendor = tree_.fact("CPUVendor");
    cpu.family = number(tree_.fact("CPUFamilyNumber"));
    cpu.model = number(tree_.fact("CPUModelNumber"));
    return topology_.cpus.emplace_back(std::move(cpu));
  }

  static std::optional<std::int64_t> number(const std::string& text) {
    std::int64_t value = 0;
    return parse(text, value) ? std::optional(value) : std::nullopt;
  }

  void insert_gpu(hwloc_obj_t device) {
    Gpu gpu;
    gpu.dev = gpus_++;  // NVML counts in the order of bus ids too
    insert(device).gpu = gpu;
  }

  void insert_nic(hwloc_obj_t device) {
    const std::vector<std::string> names = verbs_names(device);
    if (names.empty()) return;
    PciDevice& nic = insert(device);
    for (const std::string& name : names) {
      Net net;
      net.name = name;
      net.port = 1;
      const auto hca = std::ranges::find(hcas_, name, &Hca::name);
      if (hca != hcas_.end() && hca->gbps() > 0) net.mbps = hca->gbps() * 1000;
      nic.nets.push_back(std::move(net));
    }
  }

  /// The new device in its place below the switches that NCCL sees: it goes up two levels at a time, from a device over
  /// the switch's downstream port to its upstream port, and leaves the root port out (NCCL 2.28.9-1, src/graph/xml.cc).
  PciDevice& insert(hwloc_obj_t device) {
    const std::vector<hwloc_obj_t> bridges = bridges_above(device);
    std::vector<std::size_t> path;  // of indices into `bridges`, outermost first
    for (std::size_t i = 1; i < bridges.size(); i += 2) path.insert(path.begin(), i);
    const auto numa = machine_.read_number(pci_folder(device) + "/numa_node");
    std::vector<PciDevice>* level = &cpu_of(numa ? *numa : tree_.numa_of(device)).devices;
    for (const std::size_t i : path) {
      const std::string busid = busid_of(bridges[i]);
      auto found = std::ranges::find(*level, busid, &PciDevice::busid);
      if (found == level->end()) {
        found = level->insert(level->end(), describe(bridges[i], i + 1 < bridges.size() ? bridges[i + 1] : nullptr));
      }
      level = &found->children;
    }
    return level->emplace_back(describe(device, bridges.empty() ? nullptr : bridges[0]));
  }

  static std::string pci_folder(hwloc_obj_t object) { return "/sys/bus/pci/devices/" + busid_of(object); }

  /// `port`: the bridge right above, whose link it is too; null below the host.
  PciDevice describe(hwloc_obj_t object, hwloc_obj_t port) const {
    const PciAttributes& pci = pci_of(object);
    const std::string folder = pci_folder(object);
    const auto hex = [](unsigned value) { return fmt::format("0x{:04x}", value); };
    PciDevice d;
    d.busid = busid_of(object);
    d.device_class = machine_.read(folder + "/class").value_or(fmt::format("0x{:04x}00", pci.class_id));
    d.vendor = hex(pci.vendor_id);
    d.device = hex(pci.device_id);
    d.subsystem_vendor = hex(pci.subvendor_id);
    d.subsystem_device = hex(pci.subdevice_id);
    d.link_speed = slower(machine_.read(folder + "/max_link_speed"), port, "/max_link_speed");
    d.link_width = machine_.read_number(folder + "/max_link_width");
    const auto port_width = port == nullptr ? std::nullopt : machine_.read_number(pci_folder(port) + "/max_link_width");
    if (d.link_width && port_width) d.link_width = std::min<std::int64_t>(*d.link_width, *port_width);
    d.running_speed = machine_.read(folder + "/current_link_speed").value_or("");
    d.running_width = machine_.read_number(folder + "/current_link_width");
    return d;
  }

  /// The lower of the speeds of a device and its port.
  std::string slower(const std::optional<std::string>& own, hwloc_obj_t port, const char* file) const {
    const auto other = port == nullptr ? std::nullopt : machine_.read(pci_folder(port) + file);
    const auto gts = [](const std::string& text) { return std::atof(text.c_str()); };
    if (!own || (other && gts(*other) > 0 && gts(*other) < gts(*own))) return other.value_or("");
    return *own;
  }

  const Machine& machine_;
  HwlocTree tree_;
  std::vector<Hca> hcas_;
  NodeTopology topology_;
  std::int64_t gpus_ = 0;
};

}  // namespace

NodeTopology discover(const Machine& machine) {
  return Discovery(machine).run();
}

}  // namespace octet

#include "src/topology/hwloc_tree.h"

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

bool load(hwloc_topology_t topology, const Machine& machine) {
  if (!machine.is_live()) {
    if (hwloc_topology_set_xml(topology, machine.path("/commands/hwloc.xml").c_str()) != 0) return false;
  }
  return hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
         hwloc_topology_load(topology) == 0;
}

}  // namespace

HwlocTree::HwlocTree(const Machine& machine) {
  if (hwloc_topology_init(&topology_) != 0) throw internal_error("topology", "hwloc does not start");
  if (load(topology_, machine)) return;
  hwloc_topology_destroy(topology_);
  throw usage_error("topology", "{}: hwloc finds no machine there; expected {}", machine.path("/"),
                    machine.is_live() ? "one, or HWLOC_XMLFILE" : "commands/hwloc.xml, made by lstopo --of xml");
}

std::vector<hwloc_obj_t> HwlocTree::numa_nodes() const {
  std::vector<hwloc_obj_t> nodes;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, o)) != nullptr;) {
    nodes.push_back(o);
  }
  return nodes;
}

std::vector<hwloc_obj_t> HwlocTree::pci_devices() const {
  std::vector<hwloc_obj_t> devices;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_pcidev(topology_, o)) != nullptr;) devices.push_back(o);
  return devices;
}

std::string HwlocTree::fact(const char* name) const {
  for (const hwloc_obj_t o : {hwloc_get_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, 0), hwloc_get_root_obj(topology_)}) {
    const char* text = o == nullptr ? nullptr : hwloc_obj_get_info_by_name(o, name);
    if (text != nullptr) return text;
  }
  return "";
}

std::int64_t HwlocTree::numa_of(hwloc_obj_t device) const {
  const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology_, device);
  if (place == nullptr || place->nodeset == nullptr || hwloc_bitmap_weight(place->nodeset) != 1) return -1;
  return hwloc_bitmap_first(place->nodeset);
}

std::vector<hwloc_obj_t> bridges_above(hwloc_obj_t device) {
  std::vector<hwloc_obj_t> bridges;
  for (hwloc_obj_t o = device->parent; o != nullptr && o->type == HWLOC_OBJ_BRIDGE; o = o->parent) {
    if (o->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI) bridges.push_back(o);
  }
  return bridges;
}

const PciAttributes& pci_of(hwloc_obj_t object) {
  return object->type == HWLOC_OBJ_BRIDGE ? object->attr->bridge.upstream.pci : object->attr->pcidev;
}

std::string busid_of(hwloc_obj_t object) {
  const PciAttributes& pci = pci_of(object);
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", static_cast<unsigned>(pci.domain), static_cast<unsigned>(pci.bus),
                     static_cast<unsigned>(pci.dev), static_cast<unsigned>(pci.func));
}

std::string mask_of(hwloc_obj_t numa) {
  if (numa->cpuset == nullptr) return "";
  std::vector<std::string> words;
  for (int word = hwloc_bitmap_last(numa->cpuset) / 32; word >= 0; --word) {
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < 32; ++i) {
      bits |= hwloc_bitmap_isset(numa->cpuset, static_cast<unsigned>(word) * 32 + i) != 0 ? 1U << i : 0U;
    }
    words.push_back(fmt::format("{:08x}", bits));
  }
  return joined(words, ",");
}

}  // namespace octet

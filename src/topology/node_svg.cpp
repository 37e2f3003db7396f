#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "src/topology/draw.h"
#include "src/topology/svg.h"
#include "src/topology/topology_lint.h"

namespace octet {
namespace {

constexpr double column = 104, leaf_width = 96, level_height = 78, box_height = 44, card_height = 40, card_step = 46;
constexpr double margin = 24, top = 86, cpu_gap = 60;

/// What stands in one column of a level: a device with its own columns, or all cards of one parent below each other.
double columns_of(const std::vector<PciDevice>& devices) {
  double columns = 0;
  bool cards = false;
  for (const PciDevice& d : devices) {
    if (d.is_nic()) cards = true;
    if (d.is_gpu()) columns += 1;
    if (d.is_bridge()) columns += std::max(1.0, columns_of(d.children));
  }
  return columns + (cards ? 1 : 0);
}

int depth_of(const std::vector<PciDevice>& devices) {
  int depth = 0;
  for (const PciDevice& d : devices) depth = std::max(depth, 1 + depth_of(d.children));
  return depth;
}

std::size_t most_cards(const std::vector<PciDevice>& devices) {
  auto most = static_cast<std::size_t>(std::ranges::count_if(devices, &PciDevice::is_nic));
  for (const PciDevice& d : devices) most = std::max(most, most_cards(d.children));
  return most;
}

std::string card_text(const PciDevice& d) {
  if (d.nets.empty()) return "card\n" + d.busid;
  const Net& net = d.nets.front();
  const std::string name = d.nets.size() > 1 ? fmt::format("{} +{}", net.name, d.nets.size() - 1) : net.name;
  return name + "\n" + (net.mbps ? fmt::format("{} Gb/s", *net.mbps / 1000) : d.busid);
}

class NodeDrawing {
 public:
  explicit NodeDrawing(const NodeTopology& topology)
      : topology_(topology), places_(topology), all_sick_(sick_links(places_)) {
    for (const BadLink& s : all_sick_) sick_[s.device].push_back(s);
  }

  std::string draw() {
    int depth = 1;
    std::size_t cards = 1;
    for (const Cpu& cpu : topology_.cpus) {
      depth = std::max(depth, depth_of(cpu.devices));
      cards = std::max({cards, most_cards(cpu.devices), cpu.nets.size()});
    }
    leaf_y_ = top + level_height * depth;
    const double bottom = leaf_y_ + std::max(box_height + 12, card_step * static_cast<double>(cards)) + 34;
    double x = margin;
    for (std::size_t i = 0; i < topology_.cpus.size(); ++i) {
      const double width = draw_cpu(topology_.cpus[i], x);
      if (i + 1 < topology_.cpus.size()) {
        svg_.line("system", x + width, top + box_height / 2, x + width + cpu_gap, top + box_height / 2, 4);
        svg_.text("label", x + width + 1, top + box_height / 2 - 6,
                  fmt::format("{:.0f} GB/s", cpu_link_gbs(topology_.cpus[i])));
      }
      x += width + cpu_gap;
    }
    const double width = std::max(x - cpu_gap + margin, 620.0);
    const double below = draw_nvswitches(bottom);
    svg_.text("title", margin, 34, topology_.source);
    svg_.text(
        "note", margin, 54,
        fmt::format("{} GPUs, {} cards; GB/s one way, as NCCL counts them", places_.gpus.size(), places_.nics.size()));
    const double end = draw_findings(below + 26);
    return svg_.file(width, end, topology_.source);
  }

 private:
  double draw_cpu(const Cpu& cpu, double x) {
    const double columns = columns_of(cpu.devices) + (cpu.nets.empty() ? 0 : 1);
    const double width = std::max(1.0, columns) * column;
    const std::string model =
        cpu.family ? fmt::format("{} {}/{}", cpu.vendor, *cpu.family, cpu.model.value_or(0)) : cpu.vendor;
    svg_.box("cpu", x, top, width, box_height, fmt::format("NUMA node {}\n{}", cpu.numa, model));
    draw_level(cpu.devices, x, top, 1);
    double y = leaf_y_;
    for (const Net& net : cpu.nets) {
      svg_.box("nic", x + width - column + 4, y, leaf_width, card_height, net.name);
      y += card_step;
    }
    return width;
  }

  /// Devices below a box that ends at y + box_height.
  void draw_level(const std::vector<PciDevice>& devices, double x, double y, int level) {
    std::vector<const PciDevice*> cards;
    for (const PciDevice& d : devices) {
      if (d.is_nic()) {
        cards.push_back(&d);
      } else if (d.is_gpu()) {
        draw_gpu(d, x, y);
        x += column;
      } else {
        const double width = std::max(1.0, columns_of(d.children)) * column;
        const double at = top + level_height * level;
        connect(d, x + width / 2, y + box_height, at);
        svg_.box(kind(d, "switch"), x + 4, at, width - 8, box_height, "PCIe switch\n" + d.busid, tooltip(d));
        draw_level(d.children, x, at, level + 1);
        x += width;
      }
    }
    draw_cards(cards, x, y);
  }

  void draw_gpu(const PciDevice& d, double x, double y) {
    connect(d, x + column / 2, y + box_height, leaf_y_);
    const std::string name = d.gpu && d.gpu->dev ? fmt::format("GPU {}", *d.gpu->dev) : "GPU";
    svg_.box(kind(d, "gpu"), x + 4, leaf_y_, leaf_width, box_height, name + "\n" + d.busid, tooltip(d));
    gpu_x_[&d] = x + column / 2;
  }

  void draw_cards(const std::vector<const PciDevice*>& cards, double x, double y) {
    double at = leaf_y_;
    for (const PciDevice* card : cards) {
      if (card == cards.front()) {
        connect(*card, x + column / 2, y + box_height, at);
      } else {
        svg_.line(link_kind(*card), x + column / 2, at - 8, x + column / 2, at);
      }
      svg_.box(kind(*card, "nic"), x + 4, at, leaf_width, card_height, card_text(*card), tooltip(*card));
      at += card_step;
    }
  }

  void connect(const PciDevice& d, double x, double from, double to) {
    svg_.line(link_kind(d), x, from, x, to, 2 + link_gbs(d) / 24);
    const std::string text = d.link_speed.empty() ? "?" : fmt::format("{:.3g} GB/s", link_gbs(d));
    svg_.label(has_sick(d, BadLink::Kind::pci) ? "warn" : "label", x, from + 21, text);
  }

  /// Returns where the drawing ends.
  double draw_nvswitches(double y) {
    std::set<std::string> switches;
    double left = 1e9, right = 0;
    bool to_gpus = false;
    for (const DevicePlace& place : places_.gpus) {
      const PciDevice* gpu = place.device();
      const double x = gpu_x_.at(gpu);
      const auto count = nvlink_count(*gpu);
      if (count.value_or(0) == 0) continue;
      for (const NvLinks& l : *gpu->gpu->nvlinks) {
        switches.insert(l.target);
        to_gpus = to_gpus || l.target_class.starts_with("0x03");
      }
      const bool sick = has_sick(*gpu, BadLink::Kind::nvlink);
      svg_.line(sick ? "bad" : "nvlink", x, leaf_y_ + box_height, x, y + 22, 5);
      svg_.label(sick ? "warn" : "label", x, y + 2, fmt::format("x{}", *count));
      left = std::min(left, x);
      right = std::max(right, x);
    }
    if (switches.empty()) return y;
    svg_.box("nvswitch", left - leaf_width / 2, y + 18, right - left + leaf_width, 34,
             fmt::format("NVLink, {} {}", switches.size(), to_gpus ? "peers" : "NVSwitches"));
    return y + 52;
  }

  double draw_findings(double y) {
    for (const BadLink& s : all_sick_) {
      svg_.text("warn", margin, y, fmt::format("{}: {}, expected {}", s.name, s.seen, s.expected));
      y += 18;
    }
    return y;
  }

  bool has_sick(const PciDevice& d, BadLink::Kind kind_of_link) const {
    const auto found = sick_.find(&d);
    return found != sick_.end() &&
           std::ranges::any_of(found->second, [&](const BadLink& s) { return s.kind == kind_of_link; });
  }
  std::string_view link_kind(const PciDevice& d) const { return has_sick(d, BadLink::Kind::pci) ? "bad" : "pci"; }
  std::string_view kind(const PciDevice& d, std::string_view healthy) const {
    return sick_.contains(&d) ? "sick" : healthy;
  }
  static std::string tooltip(const PciDevice& d) {
    return fmt::format("{} {} {} {} x{}", d.busid, d.vendor, d.device, d.link_speed, d.link_width.value_or(0));
  }

  const NodeTopology& topology_;
  Places places_;
  std::vector<BadLink> all_sick_;
  std::map<const PciDevice*, std::vector<BadLink>> sick_;
  std::map<const PciDevice*, double> gpu_x_;
  double leaf_y_ = 0;
  Svg svg_;
};

}  // namespace

std::string to_svg(const NodeTopology& topology) {
  return NodeDrawing(topology).draw();
}

}  // namespace octet

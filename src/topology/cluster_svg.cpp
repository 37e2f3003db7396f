#include <fmt/format.h>

#include <algorithm>

#include "src/topology/cluster_parts.h"
#include "src/topology/draw.h"
#include "src/topology/svg.h"

namespace octet::parts {
namespace {

class ClusterDrawing {
 public:
  ClusterDrawing(const ClusterProfile& profile, const NetworkShape& shape) : profile_(profile), shape_(shape) {}

  std::string draw() {
    double x = 24, height = 0;
    const bool core = shape_.pods > 1;
    const double y = core ? 150 : 84;
    for (const std::int64_t pod : shown(shape_.pods, 4)) {
      if (pod == gap) {
        svg_.text("note", x, y + 60, fmt::format("… {} more pods", shape_.pods - 3));
        x += 110;
        continue;
      }
      const auto [width, bottom] = draw_pod(pod, x, y);
      if (core) svg_.line("net", x + width / 2, 118, x + width / 2, y + 34, 4);
      if (core) svg_.label("label", x + width / 2, 138, rate(shape_.pod_up_gbps));
      x += width + 20;
      height = std::max(height, bottom);
    }
    if (core) {
      svg_.box("spine", 24, 84, x - 44, 34,
               fmt::format("between pods, {}", ratio(profile_.network.pod_oversubscription)));
    }
    svg_.text("title", 24, 34, headline(profile_, shape_));
    svg_.text("note", 24, 56,
              fmt::format("{} cards of {} Gb/s a node; rates are those of all that a box stands for, one way",
                          profile_.nics.per_node, profile_.nics.gbps));
    return svg_.file(std::max(x + 4, 640.0), height + 24, headline(profile_, shape_));
  }

 private:
  struct Drawn {
    double width, bottom;
  };

  Drawn draw_pod(std::int64_t pod, double x, double y) {
    const Groups groups = groups_of(shape_, pod);
    const double spine_y = y + 34, group_y = spine_y + 84;
    double at = x + 16, bottom = 0;
    for (const std::int64_t i : shown(groups.count, 4)) {
      if (i == gap) {
        svg_.text("note", at, group_y + 50, fmt::format("… {} more", groups.count - 3));
        at += 84;
        continue;
      }
      const double width = group_width();
      bottom = std::max(bottom, draw_group(groups.first + i, at, group_y));
      svg_.line("net", at + width / 2, spine_y + 34, at + width / 2, group_y, 4);
      const double up = shape_.leaf_up_gbps * static_cast<double>(shape_.leaves_a_group);
      svg_.label("label", at + width / 2, spine_y + 62, rate(up));
      at += width + 14;
    }
    const double width = at - x + 2;
    const Nodes nodes = pod_nodes(shape_, pod);
    const bool known = profile_.network.leaf_nodes > 0;
    svg_.box("spine", x + 16, spine_y, width - 32, 34,
             known ? fmt::format("spines, {}", ratio(profile_.network.oversubscription)) : "network, leaves not known");
    frame("frame", x, y, width, bottom + 14 - y, fmt::format("pod {}: {}", pod, range("node", nodes.from, nodes.to)));
    return {width, bottom + 14};
  }

  double group_width() const {
    return shape_.leaves_a_group > 1 ? 18.0 * static_cast<double>(shape_.leaves_a_group) + 36 : 132;
  }

  double draw_group(std::int64_t group, double x, double y) {
    const double width = group_width();
    const Nodes nodes = group_nodes(shape_, group);
    draw_leaves(group, x, y + 24, width);
    double at = y + 64;
    for (const std::int64_t i : shown(nodes.to - nodes.from, 5)) {
      if (i == gap) {
        svg_.text("note", x + 12, at + 12, fmt::format("… {} more nodes", nodes.to - nodes.from - 4));
        at += 20;
        continue;
      }
      svg_.box("node", x + 10, at, width - 20, 20, fmt::format("node {}", nodes.from + i));
      at += 24;
    }
    frame("frame", x, y, width, at + 6 - y, range("node", nodes.from, nodes.to));
    return at + 6;
  }

  void draw_leaves(std::int64_t group, double x, double y, double width) {
    if (shape_.leaves_a_group == 1) {
      svg_.box("leaf", x + 10, y, width - 20, 32,
               profile_.network.leaf_nodes > 0 ? fmt::format("leaf {}", group) : "leaf");
      return;
    }
    const double step = (width - 20) / static_cast<double>(shape_.leaves_a_group);
    for (std::int64_t rail = 0; rail < shape_.leaves_a_group; ++rail) {
      svg_.box("leaf", x + 10 + step * static_cast<double>(rail), y, step - 2, 32, std::to_string(rail),
               fmt::format("leaf {}: card {} of each node", group * shape_.leaves_a_group + rail, rail));
    }
  }

  /// A frame below all that was drawn in it, with its name at the top.
  void frame(std::string_view kind, double x, double y, double width, double height, const std::string& name) {
    svg_.background(kind, x, y, width, height);
    svg_.text("label", x + 10, y + 15, name);
  }

  const ClusterProfile& profile_;
  const NetworkShape& shape_;
  Svg svg_;
};

}  // namespace
}  // namespace octet::parts

namespace octet {

std::string cluster_svg(const ClusterProfile& profile, std::int64_t nodes) {
  const NetworkShape shape = network_shape(profile, nodes);
  return parts::ClusterDrawing(profile, shape).draw();
}

}  // namespace octet

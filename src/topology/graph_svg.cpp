#include <fmt/format.h>

#include <algorithm>

#include "src/topology/graph_dump.h"
#include "src/topology/svg.h"

namespace octet {
namespace {

constexpr double margin = 24, top = 84, index_width = 30, step = 84, box_width = 60, box_height = 24, row_height = 42;

enum Pattern : std::int64_t { split_tree = 2, ring = 4 };  // NCCL_TOPO_PATTERN_* of NCCL 2.28.9-1, graph.h

/// Which GPU of a channel sends to the card by which it leaves (ncclTopoSearchParams of NCCL 2.28.9-1, search.cc).
std::size_t last_before_card(const ChannelGraph& graph, const GraphChannel& channel) {
  if (graph.pattern == ring) return channel.gpus.size() - 1;
  return graph.pattern == split_tree ? std::min<std::size_t>(1, channel.gpus.size() - 1) : 0;
}

/// One channel as a row of boxes, from the card by which it comes in to that by which it leaves.
class Row {
 public:
  Row(Svg& svg, const ChannelGraph& graph, const GraphChannel& channel, double y)
      : svg_(svg), graph_(graph), channel_(channel), y_(y) {}

  void draw(std::size_t index) {
    svg_.text("label", margin, y_ + box_height / 2 + 4, std::to_string(index));
    for (std::size_t i = 0; i < channel_.gpus.size(); ++i) {
      box("gpu", i + 1, fmt::format("GPU {}", channel_.gpus[i]));
      if (i > 0) straight(graph_.by_nvlink() ? "nvlink" : "bad", i);
    }
    if (channel_.nets.empty()) {
      if (graph_.pattern == ring && channel_.gpus.size() > 1) {
        below(graph_.by_nvlink() ? "nvlink" : "bad", channel_.gpus.size(), 1);
      }
    } else {
      draw_cards();
    }
  }

 private:
  double left(std::size_t place) const { return margin + index_width + step * static_cast<double>(place); }

  void box(std::string_view kind, std::size_t place, const std::string& text) {
    svg_.box(kind, left(place), y_, box_width, box_height, text);
  }

  void draw_cards() {
    const std::string_view kind = graph_.near_cards() ? "net" : "bad";
    box("nic", 0, fmt::format("net {}", channel_.nets[0]));
    straight(kind, 0);
    const std::size_t last = last_before_card(graph_, channel_) + 1, end = channel_.gpus.size() + 1;
    const bool same_way = last == 1 && channel_.nets[0] == channel_.nets[1];
    if (same_way) return;
    box("nic", end, fmt::format("net {}", channel_.nets[1]));
    if (last + 1 == end) {
      straight(kind, last);
    } else {
      below(kind, last, end);
    }
  }

  /// From a box to the next.
  void straight(std::string_view kind, std::size_t place) {
    const double y = y_ + box_height / 2;
    svg_.line(kind, left(place) + box_width, y, left(place + 1), y, 3);
  }

  /// From a box to another, below those between.
  void below(std::string_view kind, std::size_t from, std::size_t to) {
    const double x1 = left(from) + box_width / 2, x2 = left(to) + box_width / 2, bottom = y_ + box_height + 8;
    svg_.line(kind, x1, y_ + box_height, x1, bottom, 3);
    svg_.line(kind, x1, bottom, x2, bottom, 3);
    svg_.line(kind, x2, bottom, x2, y_ + box_height, 3);
  }

  Svg& svg_;
  const ChannelGraph& graph_;
  const GraphChannel& channel_;
  double y_;
};

std::string complaint(const Finding& f) {
  return fmt::format("{}: {}{}", f.check, f.seen, f.expected.empty() ? "" : ", expected " + f.expected);
}

}  // namespace

std::string to_svg(const GraphDump& dump, const Findings& findings) {
  Svg svg;
  double y = top;
  std::size_t longest = 0;
  for (const ChannelGraph& graph : dump.graphs) {
    svg.text("bold", margin, y, graph.summary());
    y += 14;
    for (std::size_t i = 0; i < graph.channels.size(); ++i, y += row_height) {
      Row(svg, graph, graph.channels[i], y).draw(i);
      longest = std::max(longest, graph.channels[i].gpus.size() + 2);
    }
    y += 22;
  }
  for (const Finding& f : findings) {
    if (f.state != FindingState::bad && f.state != FindingState::warning) continue;
    svg.text("warn", margin, y, complaint(f));
    y += 18;
  }
  svg.text("title", margin, 34, dump.source);
  svg.text("note", margin, 54, "channels of NCCL's search, a row each; GB/s one way");
  const double width = 2 * margin + index_width + step * static_cast<double>(longest);
  return svg.file(std::max(width, 620.0), y + margin, dump.source);
}

}  // namespace octet

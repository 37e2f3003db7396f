#include "src/topology/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace octet {
namespace {

constexpr std::string_view style = R"(  <style>
    text { font: 11px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1d2733; }
    .title { font-size: 17px; font-weight: 600; }
    .note { fill: #5a6776; font-size: 12px; }
    .bold { font-weight: 600; font-size: 12px; }
    .label { fill: #5a6776; font-size: 10px; }
    .warn { fill: #b3261e; font-size: 11px; font-weight: 600; }
    rect { stroke-width: 1.2; }
    .cpu rect { fill: #e9ecf7; stroke: #6473b5; }
    .switch rect { fill: #f3f0e6; stroke: #a08f52; }
    .gpu rect { fill: #e6f3d7; stroke: #5f9417; }
    .nic rect { fill: #dcedf8; stroke: #2f7fb5; }
    .nvswitch rect { fill: #d3ecc0; stroke: #5f9417; }
    .frame rect { fill: #fafbfc; stroke: #c3cad3; }
    .node rect { fill: #ffffff; stroke: #8a96a3; }
    .leaf rect { fill: #dcedf8; stroke: #2f7fb5; }
    .spine rect { fill: #e4def3; stroke: #7458b8; }
    .sick rect { fill: #fde7e5; stroke: #b3261e; stroke-width: 2; }
    .pci { stroke: #a9a183; } .nvlink { stroke: #76b900; } .system { stroke: #6473b5; } .net { stroke: #5b9fd0; }
    .bad { stroke: #b3261e; stroke-dasharray: 5 3; }
  </style>
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::vector<std::string> lines_of_box(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

}  // namespace

void Svg::box(std::string_view kind, double x, double y, double width, double height, std::string_view text,
              std::string_view tooltip) {
  boxes_ += fmt::format("  <g class=\"{}\">", kind);
  if (!tooltip.empty()) boxes_ += fmt::format("<title>{}</title>", escaped(tooltip));
  boxes_ +=
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\"/>", x, y, width, height);
  const std::vector<std::string> lines = text.empty() ? std::vector<std::string>() : lines_of_box(text);
  constexpr double step = 14;
  double at = y + height / 2 - step * (static_cast<double>(lines.size()) - 1) / 2 + 4;
  for (std::size_t i = 0; i < lines.size(); ++i, at += step) {
    boxes_ += fmt::format("<text{} x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                          i == 0 ? " class=\"bold\"" : "", x + width / 2, at, escaped(lines[i]));
  }
  boxes_ += "</g>\n";
}

void Svg::background(std::string_view kind, double x, double y, double width, double height) {
  backgrounds_ = fmt::format(
                     "  <g class=\"{}\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                     "rx=\"8\"/></g>\n",
                     kind, x, y, width, height) +
                 backgrounds_;
}

void Svg::line(std::string_view kind, double x1, double y1, double x2, double y2, double width) {
  lines_ += fmt::format(
      "  <line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke-width=\"{}\"/>\n", kind, x1,
      y1, x2, y2, width);
}

void Svg::label(std::string_view kind, double x, double y, std::string_view text) {
  const double width = 5.4 * static_cast<double>(text.size()) + 4;
  lines_ += fmt::format("  <rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"12\" fill=\"#fff\"/>",
                        x - width / 2, y - 9, width);
  lines_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", kind, x, y,
                        escaped(text));
}

void Svg::text(std::string_view kind, double x, double y, std::string_view text) {
  boxes_ += fmt::format("  <text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kind, x, y, escaped(text));
}

std::string Svg::file(double width, double height, std::string_view title) const {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
             "height=\"{1:.0f}\" role=\"img\">\n  <title>{2}</title>\n",
             width, height, escaped(title)) +
         std::string(style) +
         fmt::format("  <rect x=\"0\" y=\"0\" width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#fff\"/>\n", width, height) +
         backgrounds_ + lines_ + boxes_ + "</svg>\n";
}

}  // namespace octet

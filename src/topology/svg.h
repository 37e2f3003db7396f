#pragma once

#include <string>
#include <string_view>

namespace octet {

/// The few shapes that the drawings are made of, with one look. Coordinates are pixels; classes are those of the style
/// sheet in svg.cpp. Text is escaped here.
class Svg {
 public:
  /// A rounded box with lines of text in its middle, the first of them bold.
  void box(std::string_view kind, double x, double y, double width, double height, std::string_view text,
           std::string_view tooltip = "");
  /// A rounded box below all else; the one drawn last is the lowest.
  void background(std::string_view kind, double x, double y, double width, double height);
  void line(std::string_view kind, double x1, double y1, double x2, double y2, double width = 2);
  /// Small text with its middle at x, on a white ground that keeps lines off it.
  void label(std::string_view kind, double x, double y, std::string_view text);
  /// Text that begins at x.
  void text(std::string_view kind, double x, double y, std::string_view text);
  /// The whole file.
  std::string file(double width, double height, std::string_view title) const;

 private:
  std::string backgrounds_, lines_, boxes_;  // from below to above
};

}  // namespace octet

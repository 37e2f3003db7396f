#include "src/train/plan/pipeline_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace octet {
namespace {

constexpr double left = 60, top = 40, row = 26, width = 1200;

/// Red, green and blue of a kind of pass in the first chunk.
std::array<int, 3> color_of(PassKind kind) {
  switch (kind) {
    case PassKind::forward:
      return {120, 170, 230};
    case PassKind::backward:
    case PassKind::input_gradient:
      return {150, 205, 140};
    case PassKind::weight_gradient:
      return {240, 190, 110};
  }
  return {};
}

std::string fill_of(const PipelinePass& pass, int chunks) {
  const double shade = 1 - 0.45 * pass.chunk / std::max(chunks, 2);
  std::string text = "#";
  for (const int part : color_of(pass.kind)) text += fmt::format("{:02x}", static_cast<int>(part * shade));
  return text;
}

std::string box(double x, double y, double w, const std::string& fill, const std::string& label) {
  std::string text = fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\" stroke=\"white\" "
      "stroke-width=\"0.5\"/>\n",
      x, y, w, row - 4, fill);
  const bool readable = w >= 6 * static_cast<double>(label.size());
  if (readable)
    text += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\">{}</text>\n", x + w / 2, y + 15, label);
  return text;
}

}  // namespace

std::string pipeline_picture(const PipelineShape& shape, const PipelinePasses& passes, const PipelineTimes& times,
                             const std::string& title) {
  const double scale = width / times.end;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{}\" y=\"20\" "
      "font-size=\"13\">{}</text>\n",
      left + width + 10, top + row * shape.ranks + 34, left, title);
  for (std::size_t r = 0; r < passes.size(); ++r) {
    const double y = top + row * static_cast<double>(r);
    text += fmt::format("<text x=\"8\" y=\"{:.2f}\">rank {}</text>\n", y + 15, r);
    for (std::size_t i = 0; i < passes[r].size(); ++i) {
      const PassSpan& span = times.spans[r][i];
      text += box(left + span.begin * scale, y, (span.end - span.begin) * scale, fill_of(passes[r][i], shape.chunks),
                  fmt::format("{}", passes[r][i].micro_batch));
    }
  }
  double x = left;
  const double y = top + row * shape.ranks + 6;
  const auto legend = [&](PassKind kind, const char* name) {
    text += box(x, y, 16, fill_of({kind}, shape.chunks), "") +
            fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", x + 22, y + 15, name);
    x += 150;
  };
  legend(PassKind::forward, "forward");
  if (shape.splits_backward()) {
    legend(PassKind::input_gradient, "gradients of inputs");
    legend(PassKind::weight_gradient, "gradients of weights");
  } else {
    legend(PassKind::backward, "backward");
  }
  return text + "</svg>\n";
}

}  // namespace octet

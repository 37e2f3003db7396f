#include "src/train/plan/pipeline_picture.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(PipelinePicture, HasABoxForEveryPass) {
  const PipelineShape shape{PipelineOrder::one_f_one_b, 2, 1, 3};
  const PipelinePasses passes = make_passes(shape);
  const std::string svg = pipeline_picture(shape, passes, run_clock(shape, passes), "two stages");
  // The ground, six passes on each of two ranks, and two of the legend.
  EXPECT_EQ(count(svg, "<rect "), 1 + 2 * 6 + 2);
  EXPECT_EQ(count(svg, ">rank "), 2U);
  EXPECT_NE(svg.find(">two stages<"), std::string::npos);
  EXPECT_EQ(count(svg, "</svg>"), 1U);
  // 3 forwards of 1 and backwards of 2, and a bubble of 3: the first box is a twelfth of the 1200 wide row.
  EXPECT_NE(svg.find("x=\"60.00\" y=\"40.00\" width=\"100.00\""), std::string::npos) << svg;
}

}  // namespace
}  // namespace octet

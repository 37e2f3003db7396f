#include "kernels/delayed.h"

#include "tests/kernels/kernel_test.h"
#include "tests/support/golden.h"

namespace octet {
namespace {

using test::infinity_f32;
using test::nan_f32;
using test::stream;

TEST(RecordAmax, KeepsTheLargestAndNaN) {
  const std::vector<float> amax = {1, 3, 0, nan_f32, 5, infinity_f32};
  std::vector<float> recorded = {2, 2, 0, 7, nan_f32, 1};
  cpu::record_amax(stream(), {.amax = amax.data(), .recorded = recorded.data(), .n = 6});
  EXPECT_EQ(std::vector<float>(recorded.begin(), recorded.begin() + 3), (std::vector<float>{2, 3, 0}));
  EXPECT_TRUE(std::isnan(recorded[3]));
  EXPECT_TRUE(std::isnan(recorded[4]));
  EXPECT_EQ(recorded[5], infinity_f32);
}

struct Case {
  std::int64_t length;
  int margin;
  bool most_recent;
  std::string name() const { return fmt::format("{}.{}.{}", most_recent ? "most_recent" : "max", length, margin); }
};

TEST(DelayedScales, FollowTheFormulasStepByStep) {
  const Golden golden("delayed");
  const auto n = golden.attribute<std::size_t>("tensors"), steps = golden.attribute<std::size_t>("steps");
  const auto amax = golden.values<float>("amax");
  for (const Case& c : {Case{1, 0, false}, {4, 0, false}, {16, 3, false}, {4, 1, true}, {64, 0, false}}) {
    SCOPED_TRACE(c.name());
    const auto expected = golden.values<float>(c.name() + ".scale");
    std::vector<float> recorded(n), scale(n, nan_f32), inverse(n * inverse_scale_stride, nan_f32);
    std::vector<float> history(static_cast<std::size_t>(c.length) * n);
    for (std::size_t step = 0; step < steps; ++step) {
      std::copy_n(amax.begin() + static_cast<std::ptrdiff_t>(step * n), n, recorded.begin());
      cpu::delayed_scales(stream(), {.recorded = recorded.data(),
                                     .history = history.data(),
                                     .scale = scale.data(),
                                     .inverse_scale = inverse.data(),
                                     .n = static_cast<std::int64_t>(n),
                                     .length = c.length,
                                     .e5m2_from = golden.attribute<std::int64_t>("e4m3"),
                                     .margin = c.margin,
                                     .most_recent = c.most_recent,
                                     .first = step == 0});
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(scale[i], expected[step * n + i]) << "step " << step << ", tensor " << i;
        EXPECT_EQ(inverse[i * inverse_scale_stride], 1.0f / scale[i]);
        EXPECT_EQ(recorded[i], 0.0f);
      }
    }
    EXPECT_EQ(history, golden.values<float>(c.name() + ".history"));
  }
}

}  // namespace
}  // namespace octet

#include "kernels/delayed.h"

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

class GpuDelayed : public GpuTest {
 protected:
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  /// Abs-maxes of all magnitudes, and those that say nothing.
  static std::vector<float> abs_maxes(std::int64_t n, unsigned seed) {
    std::vector<float> values = normal<float>(n, seed, 20.0);
    for (float& v : values) v = std::exp2(v);
    const float special[] = {0.0f, infinity, NAN, 1e-45f, 3.4e38f};
    for (std::size_t i = seed % 3; i < values.size(); i += 7) values[i] = special[i / 7 % 5];
    return values;
  }

  /// Three steps on both.
  void compare(std::int64_t n, std::int64_t length, bool most_recent) {
    SCOPED_TRACE(fmt::format("{} tensors, history {}, most recent {}", n, length, most_recent));
    Both<float> history(*gpu_stream, abs_maxes(length * n, 99));
    Both<float> scale = Both<float>::output(*gpu_stream, n);
    Both<float> inverse = Both<float>::output(*gpu_stream, n * inverse_scale_stride);
    Both<float> recorded(*gpu_stream, std::vector<float>(static_cast<std::size_t>(n)));
    for (unsigned step = 0; step < 3; ++step) {
      for (unsigned micro = 0; micro < 2; ++micro) {
        Both<float> amax(*gpu_stream, abs_maxes(n, 10 * step + micro));
        cpu.record_amax(*cpu_stream, {.amax = amax.cpu(), .recorded = recorded.cpu(), .n = n});
        gpu().record_amax(*gpu_stream, {.amax = amax.gpu(), .recorded = recorded.gpu(), .n = n});
        expect_same_values(recorded, "recorded by a micro-batch");
      }
      DelayedScales args{.recorded = recorded.cpu(),
                         .history = history.cpu(),
                         .scale = scale.cpu(),
                         .inverse_scale = inverse.cpu(),
                         .n = n,
                         .length = length,
                         .e5m2_from = n / 2,
                         .margin = 1,
                         .most_recent = most_recent,
                         .first = step == 0};
      cpu.delayed_scales(*cpu_stream, args);
      args.recorded = recorded.gpu();
      args.history = history.gpu();
      args.scale = scale.gpu();
      args.inverse_scale = inverse.gpu();
      gpu().delayed_scales(*gpu_stream, args);
      expect_same_bits(scale, "scale");
      expect_same_bits(inverse, "inverse scale");
      expect_same_bits(history, "history");
      expect_same_bits(recorded, "recorded");
    }
  }
};

TEST_F(GpuDelayed, SameBitsAsTheCpu) {
  for (const std::int64_t n : {1, 5, 9, 128, 129, 2000}) {
    for (const std::int64_t length : {1, 2, 7, 8, 9, 16, 257, 1023, 1024, 1025, 2050}) {
      if (n > 129 && length > (is_emulated() ? 9 : 1024)) continue;  // so many tensors take long
      for (const bool most_recent : {false, true}) compare(n, length, most_recent);
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test

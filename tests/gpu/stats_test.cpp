#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

class GpuStats : public GpuTest {
 protected:
  template <typename T>
  void compare(std::int64_t n, std::int64_t offset, float raised_from) {
    auto values = normal<T>(n + offset, 1);
    if (n > 700) values[700] = T(INFINITY);
    Both<T> x(*gpu_stream, values);
    Both<float> amax(*gpu_stream, {raised_from});
    Both<std::uint32_t> count(*gpu_stream, {5});
    const Stats args{.x = x.cpu() + offset, .dtype = dtype_of<T>::value, .n = n, .out = {amax.cpu(), count.cpu()}};
    cpu.stats(*cpu_stream, args);
    gpu().stats(*gpu_stream, {.x = x.gpu() + offset, .dtype = args.dtype, .n = n, .out = {amax.gpu(), count.gpu()}});
    expect_same_bits(amax, "amax");
    expect_same_bits(count, "non-finite");
  }
};

TEST_F(GpuStats, SameBitsAsTheCpu) {
  for (const std::int64_t n : {0, 1, 31, 257, 4096, 100003}) {
    for (const std::int64_t offset : {0, 1}) {
      for (const float raised_from : {0.0f, 3.0f}) {
        compare<float>(n, offset, raised_from);
        compare<bf16>(n, offset, raised_from);
      }
    }
  }
}

/// Blocks that pass the largest count between them leave it there, whichever of them comes first.
TEST_F(GpuStats, CountStopsAtTheLargest) {
  constexpr std::int64_t n = 100003;
  constexpr std::uint32_t largest = ~0u;
  const std::vector<float> x(n, NAN);
  for (const std::uint32_t before : {largest - 100004, largest - 100003, largest - 50000, largest - 1, largest}) {
    Both<float> values(*gpu_stream, x);
    Both<std::uint32_t> count(*gpu_stream, {before});
    cpu.stats(*cpu_stream, {.x = values.cpu(), .dtype = DType::f32, .n = n, .out = {nullptr, count.cpu()}});
    gpu().stats(*gpu_stream, {.x = values.gpu(), .dtype = DType::f32, .n = n, .out = {nullptr, count.gpu()}});
    EXPECT_EQ(*count.cpu(), before == largest - 100004 ? largest - 1 : largest);
    expect_same_bits(count, "non-finite");
  }
}

}  // namespace
}  // namespace octet::gpu_test

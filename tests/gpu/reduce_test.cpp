#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

class GpuReduce : public GpuTest {
 protected:
  /// The sum in double on both sides, in another order: at most a rounding of the result apart.
  static constexpr double tolerance = 2e-7;

  struct Squares {
    float sum;
    std::uint32_t non_finite;
  };
  template <typename X>
  Squares squares_on_gpu(Both<X>& x, std::int64_t n, std::int64_t offset) {
    auto out = Both<float>::output(*gpu_stream, 1);
    Both<std::uint32_t> count(*gpu_stream, {9});
    SumOfSquares args{
        .x = x.gpu() + offset, .dtype = dtype_of<X>::value, .n = n, .out = out.gpu(), .non_finite = count.gpu()};
    const std::int64_t bytes = gpu().sum_of_squares_workspace(args);
    Both<std::uint32_t> workspace(*gpu_stream, std::vector<std::uint32_t>(static_cast<std::size_t>(bytes / 4)));
    args.workspace = workspace.gpu();
    gpu().sum_of_squares(*gpu_stream, args);
    const std::vector<std::uint32_t> left = workspace.download();  // and its guards
    if (!left.empty()) {
      EXPECT_EQ(left[0], 0u) << "not ready for the next call";
    }
    const Squares found{out.download()[0], count.download()[0]};
    for (int again = 0; again < 3; ++again) gpu().sum_of_squares(*gpu_stream, args);
    EXPECT_EQ(std::memcmp(out.download().data(), &found.sum, 4), 0) << "in a workspace that was used";
    return found;
  }

  template <typename X>
  void compare_squares(const std::vector<X>& values, std::int64_t offset) {
    SCOPED_TRACE(fmt::format("{}, n {}, offset {}", name_of(dtype_of<X>::value), values.size(), offset));
    Both<X> x(*gpu_stream, values);
    const std::int64_t n = x.size() - offset;
    Squares cpu_result{0, 9};
    cpu.sum_of_squares(*cpu_stream, {.x = x.cpu() + offset,
                                     .dtype = dtype_of<X>::value,
                                     .n = n,
                                     .out = &cpu_result.sum,
                                     .non_finite = &cpu_result.non_finite});
    const Squares first = squares_on_gpu(x, n, offset), second = squares_on_gpu(x, n, offset);
    EXPECT_EQ(std::memcmp(&first.sum, &second.sum, 4), 0) << "another sum from the same numbers";
    if (std::isfinite(cpu_result.sum)) {
      EXPECT_NEAR(first.sum, cpu_result.sum, tolerance * cpu_result.sum);
    } else {
      EXPECT_EQ(std::isnan(first.sum), std::isnan(cpu_result.sum));
      EXPECT_FALSE(std::isfinite(first.sum));
    }
    EXPECT_EQ(first.non_finite, cpu_result.non_finite);
  }
};

TEST_F(GpuReduce, Sum) {
  for (const std::int64_t n : {0, 1, 31, 32, 1000, 8192, 100003}) {
    auto values = normal<float>(n, 41);
    for (float& v : values) v += 3.0f;  // nothing cancels
    Both<float> x(*gpu_stream, values);
    auto out = Both<float>::output(*gpu_stream, 1);
    cpu.sum(*cpu_stream, {.x = x.cpu(), .n = n, .out = out.cpu()});
    gpu().sum(*gpu_stream, {.x = x.gpu(), .n = n, .out = out.gpu()});
    expect_close(out, tolerance, "sum");
  }
}

TEST_F(GpuReduce, SumOfSquares) {
  for (const std::int64_t n : {0, 1, 31, 4096, 4097, 100003, 5000000}) {
    for (const std::int64_t offset : {0, 1}) {
      compare_squares(normal<float>(n + offset, 42), offset);
      compare_squares(normal<bf16>(n + offset, 42), offset);
    }
  }
}

/// Which thread adds what depends on the number of elements alone, also where bf16 is read several packs at once: in
/// one round of the grid that leaves nothing (32768), in one and in two with a rest.
TEST_F(GpuReduce, SquaresOfBf16AreThoseOfTheSameValuesInFp32) {
  for (const std::int64_t n : {1, 31, 4097, 32768, 100003, 5000001, 9000003}) {
    const auto narrow = normal<bf16>(n + 1, 48);
    std::vector<float> wide;
    for (const bf16 v : narrow) wide.push_back(static_cast<float>(v));
    Both<bf16> x(*gpu_stream, narrow);
    Both<float> y(*gpu_stream, wide);
    for (const std::int64_t offset : {0, 1}) {
      EXPECT_EQ(squares_on_gpu(x, n, offset).sum, squares_on_gpu(y, n, offset).sum) << n << " from " << offset;
    }
  }
}

TEST_F(GpuReduce, SumOfSquaresDoesNotDependOnAlignment) {
  constexpr std::int64_t n = 300001;
  const auto values = normal<float>(n, 43);
  std::vector<float> shifted = values;
  shifted.insert(shifted.begin(), 1.0f);
  Both<float> x(*gpu_stream, values), y(*gpu_stream, shifted);
  EXPECT_EQ(squares_on_gpu(x, n, 0).sum, squares_on_gpu(y, n, 1).sum);
}

TEST_F(GpuReduce, SumOfSquaresCountsWhatIsNotFinite) {
  for (const std::int64_t n : {100, 100003}) {
    auto values = normal<float>(n, 44);
    values[17] = INFINITY;
    compare_squares(values, 0);
    values[99] = NAN;
    compare_squares(values, 0);
    values = normal<float>(n, 45, 1e25);  // all finite, their sum is not
    compare_squares(values, 0);
    auto narrow = normal<bf16>(n, 44);
    narrow[17] = bf16(INFINITY);
    narrow[99] = bf16(NAN);
    compare_squares(narrow, 0);
  }
}

TEST_F(GpuReduce, Accumulate) {
  for (const std::int64_t n : {0, 1, 3, 4096, 1100003}) {
    for (const std::int64_t offset : {0, 1}) {
      Both<float> x(*gpu_stream, normal<float>(n + offset, 46)), y(*gpu_stream, normal<float>(n + offset, 47));
      cpu.accumulate(*cpu_stream, {.x = x.cpu() + offset, .y = y.cpu() + offset, .n = n});
      gpu().accumulate(*gpu_stream, {.x = x.gpu() + offset, .y = y.gpu() + offset, .n = n});
      expect_same_bits(y, "y");
    }
  }
}

TEST_F(GpuReduce, ClipFactor) {
  for (const float squares : {0.0f, 0.25f, 1.0f, 7.3f, INFINITY, NAN}) {
    for (const float max_norm : {0.0f, 0.3f, 1.0f}) {
      for (const std::uint32_t before : {0u, 1u}) {
        SCOPED_TRACE(fmt::format("sum of squares {}, max_norm {}", squares, max_norm));
        Both<float> sum(*gpu_stream, {squares});
        auto norm = Both<float>::output(*gpu_stream, 1), factor = Both<float>::output(*gpu_stream, 1);
        Both<std::uint32_t> skip(*gpu_stream, {before});
        cpu.clip_factor(*cpu_stream, {sum.cpu(), max_norm, norm.cpu(), factor.cpu(), skip.cpu()});
        gpu().clip_factor(*gpu_stream, {sum.gpu(), max_norm, norm.gpu(), factor.gpu(), skip.gpu()});
        if (std::isnan(squares)) {
          EXPECT_TRUE(std::isnan(norm.download()[0]));
        } else {
          expect_same_bits(norm, "norm");
        }
        expect_same_bits(factor, "factor");
        expect_same_bits(skip, "skip");
      }
    }
  }
}

/// Needs no device: the memory plan asks before there is anything.
TEST(CudaReduceWorkspace, GrowsWithTheElementsUpToAFewKibibytes) {
  const auto workspace = [](std::int64_t n) { return cuda_kernels().sum_of_squares_workspace({.n = n}); };
  EXPECT_EQ(workspace(0), 0);
  EXPECT_EQ(workspace(1), 0);
  std::int64_t before = 0;
  for (std::int64_t n = 1; n < std::int64_t{1} << 40; n = n * 3 / 2 + 1) {
    EXPECT_GE(workspace(n), before);
    before = workspace(n);
  }
  EXPECT_GT(before, 0);
  EXPECT_LE(before, 16384);
}

}  // namespace
}  // namespace octet::gpu_test

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

struct NormCase {
  std::int64_t rows, dim;
  std::int64_t offset = 0;  ///< of the tensors, in elements: not aligned to 16 bytes when it is 1
};

/// Narrow and wide rows, threads with and without work, one and several packs a thread; the last ones element by
/// element.
const NormCase norm_cases[] = {{1, 8},    {3, 16},     {37, 256},   {5, 768},   {700, 64},  {2, 4096},     {3, 8192},
                               {2, 8200}, {2, 16384},  {2, 16392},  {9, 1},     {33, 7},    {4, 257},      {6, 256, 1},
                               {0, 64},   {2200, 512}, {401, 1024}, {13, 2056}, {2, 12296}, {3, 16384, 1}, {2, 32768}};

class GpuRmsNorm : public GpuTest {
 protected:
  template <typename T>
  static constexpr double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-3;  // bf16: rarely another rounding

  template <typename T>
  void forward(const NormCase& c, bool branch, bool in_place, bool float8, bool poisoned) {
    const std::int64_t n = c.rows * c.dim;
    auto values = normal<T>(n + c.offset, 1);
    if (poisoned && n > 0) values[static_cast<std::size_t>(n / 2 + c.offset)] = T(INFINITY);
    Both<T> residual(*gpu_stream, values), other(*gpu_stream, normal<T>(n + c.offset, 2));
    Both<T> weight(*gpu_stream, normal<T>(c.dim + c.offset, 3));
    auto sum = Both<T>::output(*gpu_stream, n + c.offset), y = Both<T>::output(*gpu_stream, n + c.offset);
    auto inverse_rms = Both<float>::output(*gpu_stream, c.rows);
    Both<float> amax(*gpu_stream, {0.0f});
    Both<std::uint32_t> count(*gpu_stream, {7});
    Both<float> scale(*gpu_stream, {30.0f});
    auto y8 = Both<std::uint8_t>::output(*gpu_stream, n + c.offset);
    AddRmsNormForward a{.residual = residual.cpu() + c.offset,
                        .branch = branch ? other.cpu() + c.offset : nullptr,
                        .weight = weight.cpu() + c.offset,
                        .sum = (in_place ? residual : sum).cpu() + c.offset,
                        .y = y.cpu() + c.offset,
                        .inverse_rms = inverse_rms.cpu(),
                        .dtype = dtype_of<T>::value,
                        .rows = c.rows,
                        .dim = c.dim,
                        .stats = {amax.cpu(), count.cpu()}};
    if (float8) a.float8 = {.y = y8.cpu() + c.offset, .format = DType::e4m3, .scale = scale.cpu()};
    AddRmsNormForward b = a;
    b.residual = residual.gpu() + c.offset;
    b.branch = branch ? other.gpu() + c.offset : nullptr;
    b.weight = weight.gpu() + c.offset;
    b.sum = (in_place ? residual : sum).gpu() + c.offset;
    b.y = y.gpu() + c.offset;
    b.inverse_rms = inverse_rms.gpu();
    b.stats = {amax.gpu(), count.gpu()};
    if (float8) b.float8 = {.y = y8.gpu() + c.offset, .format = DType::e4m3, .scale = scale.gpu()};
    cpu.add_rmsnorm_forward(*cpu_stream, a);
    gpu().add_rmsnorm_forward(*gpu_stream, b);
    expect_same_bits(sum, "sum");
    expect_same_bits(residual, "residual");
    expect_close(inverse_rms, 3e-6, "inverse rms");
    expect_close(y, tolerance<T>, "y");
    expect_close(amax, sizeof(T) == 4 ? 2e-6 : 8e-3, "amax");
    expect_same_bits(count, "non-finite");
    if (!float8) return measured_alone(b, c, in_place, amax, y);
    check_float8<e4m3>(y, y8, c.offset, 30.0f);
    // Without a place for y: the same codes.
    const auto codes = y8.download();
    b.y = nullptr;
    auto alone = Both<std::uint8_t>::output(*gpu_stream, n + c.offset);
    b.float8.y = alone.gpu() + c.offset;
    if (in_place) return;  // the residual is the sum by now
    gpu().add_rmsnorm_forward(*gpu_stream, b);
    EXPECT_EQ(alone.download(), codes);
  }

  /// Without a place for y and without its fp8 form: the same statistics, and what a cast forms y of.
  template <typename T>
  void measured_alone(AddRmsNormForward args, const NormCase& c, bool in_place, Both<float>& amax, Both<T>& y) {
    if (in_place || c.rows == 0) return;  // the residual is the sum by now
    const std::int64_t n = c.rows * c.dim;
    Both<float> alone(*gpu_stream, {0.0f}), scale(*gpu_stream, {30.0f});
    auto inverse_rms = Both<float>::output(*gpu_stream, c.rows);
    args.y = nullptr, args.stats = {.amax = alone.gpu()}, args.inverse_rms = inverse_rms.gpu();
    gpu().add_rmsnorm_forward(*gpu_stream, args);
    EXPECT_EQ(alone.download(), amax.download());
    auto of_y = Both<std::uint8_t>::output(*gpu_stream, n), of_parts = Both<std::uint8_t>::output(*gpu_stream, n);
    CastToFloat8 cast{
        .x = y.gpu() + c.offset, .from = args.dtype, .y = of_y.gpu(), .n = n, .scale = scale.gpu(), .columns = c.dim};
    gpu().cast_to_float8(*gpu_stream, cast);
    cast.x = args.branch != nullptr ? args.sum : args.residual, cast.y = of_parts.gpu();
    cast.row_factor = inverse_rms.gpu(), cast.column_factor = args.weight;
    gpu().cast_to_float8(*gpu_stream, cast);
    EXPECT_EQ(of_parts.download(), of_y.download());
  }

  /// The fp8 form is that of the values which the same kernel stored, bit by bit.
  template <typename Code, typename T>
  void check_float8(Both<T>& y, Both<std::uint8_t>& y8, std::int64_t offset, float scale) {
    const auto values = y.download();
    const auto bytes = y8.download();
    for (auto i = static_cast<std::size_t>(offset); i < values.size(); ++i) {
      const float x = static_cast<float>(values[i]);
      if (std::isnan(x)) continue;
      ASSERT_EQ(bytes[i], Code::encode(x * scale)) << "element " << i << ", " << x;
    }
  }

  template <typename T>
  void backward(const NormCase& c, bool residual, bool in_place, bool accumulate) {
    const std::int64_t n = c.rows * c.dim;
    Both<T> dy(*gpu_stream, normal<T>(n + c.offset, 1)), x(*gpu_stream, normal<T>(n + c.offset, 2, 3.0));
    Both<T> weight(*gpu_stream, normal<T>(c.dim + c.offset, 3));
    Both<T> d_residual(*gpu_stream, normal<T>(n + c.offset, 4));
    auto dx = Both<T>::output(*gpu_stream, n + c.offset);
    std::vector<float> r = normal<float>(c.rows, 5, 0.02);
    for (float& v : r) v += 0.33f;
    Both<float> inverse_rms(*gpu_stream, r), d_weight(*gpu_stream, normal<float>(c.dim, 6));
    Both<float> amax(*gpu_stream, {0.0f});
    Both<std::uint32_t> count(*gpu_stream, {0});
    Both<float> scale(*gpu_stream, {90.0f});
    auto dx8 = Both<std::uint8_t>::output(*gpu_stream, n + c.offset);
    Both<T>& out = in_place ? (residual ? d_residual : dy) : dx;
    RmsNormBackward a{.dy = dy.cpu() + c.offset,
                      .x = x.cpu() + c.offset,
                      .weight = weight.cpu() + c.offset,
                      .inverse_rms = inverse_rms.cpu(),
                      .d_residual = residual ? d_residual.cpu() + c.offset : nullptr,
                      .dx = out.cpu() + c.offset,
                      .d_weight = d_weight.cpu(),
                      .accumulate = accumulate,
                      .dtype = dtype_of<T>::value,
                      .rows = c.rows,
                      .dim = c.dim,
                      .stats = {amax.cpu(), count.cpu()}};
    RmsNormBackward b = a;
    b.dy = dy.gpu() + c.offset;
    b.x = x.gpu() + c.offset;
    b.weight = weight.gpu() + c.offset;
    b.inverse_rms = inverse_rms.gpu();
    b.d_residual = residual ? d_residual.gpu() + c.offset : nullptr;
    b.dx = out.gpu() + c.offset;
    b.d_weight = d_weight.gpu();
    b.stats = {amax.gpu(), count.gpu()};
    b.float8 = {.y = dx8.gpu() + c.offset, .format = DType::e5m2, .scale = scale.gpu()};
    auto cpu_space = Both<unsigned char>::output(*gpu_stream, cpu.rmsnorm_backward_workspace(a));
    auto gpu_space = Both<unsigned char>::output(*gpu_stream, gpu().rmsnorm_backward_workspace(b));
    a.workspace = cpu_space.cpu();
    b.workspace = gpu_space.gpu();
    cpu.rmsnorm_backward(*cpu_stream, a);
    gpu().rmsnorm_backward(*gpu_stream, b);
    expect_close(out, tolerance<T>, "dx");
    expect_close(d_weight, 4e-6, "d_weight");
    expect_close(amax, sizeof(T) == 4 ? 1e-5 : 8e-3, "amax");
    expect_same_bits(count, "non-finite");
    check_float8<e5m2>(out, dx8, c.offset, 90.0f);
    gpu_space.download();  // its guards
  }
};

TEST_F(GpuRmsNorm, ForwardAsOnTheCpu) {
  for (const NormCase& c : norm_cases) {
    SCOPED_TRACE(fmt::format("{} x {}, offset {}", c.rows, c.dim, c.offset));
    for (const bool branch : {false, true}) {
      forward<float>(c, branch, false, false, false);
      forward<bf16>(c, branch, false, true, false);
    }
    forward<float>(c, true, true, true, true);
    forward<bf16>(c, true, true, false, true);
  }
}

TEST_F(GpuRmsNorm, BackwardAsOnTheCpu) {
  for (const NormCase& c : norm_cases) {
    SCOPED_TRACE(fmt::format("{} x {}, offset {}", c.rows, c.dim, c.offset));
    for (const bool residual : {false, true}) {
      backward<float>(c, residual, false, residual);
      backward<bf16>(c, residual, false, !residual);
      backward<float>(c, residual, true, true);
      backward<bf16>(c, residual, true, false);
    }
  }
}

TEST_F(GpuRmsNorm, WeightGradientHasTheSameBitsEachRun) {
  const std::int64_t rows = 3000, dim = 512;
  Both<bf16> dy(*gpu_stream, normal<bf16>(rows * dim, 1)), x(*gpu_stream, normal<bf16>(rows * dim, 2));
  Both<bf16> weight(*gpu_stream, normal<bf16>(dim, 3)), dx(*gpu_stream, normal<bf16>(rows * dim, 4));
  Both<float> inverse_rms(*gpu_stream, normal<float>(rows, 5));
  std::vector<std::vector<float>> runs;
  for (int run = 0; run < 3; ++run) {
    auto d_weight = Both<float>::output(*gpu_stream, dim);
    RmsNormBackward args{.dy = dy.gpu(),
                         .x = x.gpu(),
                         .weight = weight.gpu(),
                         .inverse_rms = inverse_rms.gpu(),
                         .dx = dx.gpu(),
                         .d_weight = d_weight.gpu(),
                         .rows = rows,
                         .dim = dim,
                         .stats = {}};
    auto space = Both<unsigned char>::output(*gpu_stream, gpu().rmsnorm_backward_workspace(args));
    args.workspace = space.gpu();
    gpu().rmsnorm_backward(*gpu_stream, args);
    runs.push_back(d_weight.download());
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(runs[0], runs[2]);
}

}  // namespace
}  // namespace octet::gpu_test

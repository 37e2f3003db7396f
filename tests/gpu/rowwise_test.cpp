// Casts with a scale a row or column, and GEMMs on them: GPU against CPU.
#include "kernels/rowwise.h"

#include <array>
#include <cmath>

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

/// Smaller than, equal to and beyond the tiles; multiples of 16 and not.
constexpr std::array<Matrix, 10> matrices = {
    {{1, 1}, {3, 5}, {16, 16}, {64, 256}, {65, 257}, {129, 65}, {144, 272}, {1000, 24}, {40, 4096}, {385, 33}}};

class GpuRowwise : public GpuTest {
 protected:
  template <typename From>
  void compare(Matrix matrix, std::int64_t offset, bool transposed, bool power_of_two) {
    SCOPED_TRACE(fmt::format("{} x {}, offset {}, transposed {}", matrix.rows, matrix.columns, offset, transposed));
    const std::int64_t n = matrix.rows * matrix.columns;
    auto values = normal<From>(n + offset, 3, 20.0);
    for (std::int64_t c = 0; c < matrix.columns; ++c) values[static_cast<std::size_t>(offset + c)] = From(0.0f);
    if (n > 8) values.back() = From(NAN);
    Both<From> x(*gpu_stream, values);
    auto rows = Both<e4m3>::output(*gpu_stream, n + offset), columns = Both<e4m3>::output(*gpu_stream, n + offset);
    auto row_scale = Both<float>::output(*gpu_stream, matrix.rows);
    auto row_inverse = Both<float>::output(*gpu_stream, matrix.rows);
    auto column_scale = Both<float>::output(*gpu_stream, matrix.columns);
    auto column_inverse = Both<float>::output(*gpu_stream, matrix.columns);
    QuantizeRowwise args{
        .x = x.cpu() + offset,
        .from = dtype_of<From>::value,
        .rows = matrix.rows,
        .columns = matrix.columns,
        .power_of_two = power_of_two,
        .by_row = {rows.cpu() + offset, row_scale.cpu(), row_inverse.cpu()},
        .by_column = {columns.cpu() + offset, column_scale.cpu(), column_inverse.cpu()},
        .column_transposed = transposed,
    };
    cpu.quantize_rowwise(*cpu_stream, args);
    args.x = x.gpu() + offset;
    args.by_row = {rows.gpu() + offset, row_scale.gpu(), row_inverse.gpu()};
    args.by_column = {columns.gpu() + offset, column_scale.gpu(), column_inverse.gpu()};
    gpu().quantize_rowwise(*gpu_stream, args);
    expect_same_values(rows, "by row");
    expect_same_values(columns, "by column");
    expect_same_values(row_scale, "scales of rows");
    expect_same_values(row_inverse, "inverse scales of rows");
    expect_same_values(column_scale, "scales of columns");
    expect_same_values(column_inverse, "inverse scales of columns");
  }

  /// One form alone, which has kernels of its own.
  template <typename From>
  void compare_alone(Matrix matrix, std::int64_t offset, bool of_rows, bool poisoned) {
    SCOPED_TRACE(
        fmt::format("{} of {} x {}, offset {}", of_rows ? "rows" : "columns", matrix.rows, matrix.columns, offset));
    const std::int64_t n = matrix.rows * matrix.columns, scales = of_rows ? matrix.rows : matrix.columns;
    auto values = normal<From>(n + offset, 4, 20.0);
    if (poisoned) values.back() = From(NAN);
    Both<From> x(*gpu_stream, values);
    auto codes = Both<e4m3>::output(*gpu_stream, n + offset);
    auto scale = Both<float>::output(*gpu_stream, scales), inverse = Both<float>::output(*gpu_stream, scales);
    QuantizeRowwise args{.x = x.cpu() + offset,
                         .from = dtype_of<From>::value,
                         .rows = matrix.rows,
                         .columns = matrix.columns,
                         .column_transposed = true};
    RowwiseForm& form = of_rows ? args.by_row : args.by_column;
    form = {codes.cpu() + offset, scale.cpu(), inverse.cpu()};
    cpu.quantize_rowwise(*cpu_stream, args);
    args.x = x.gpu() + offset;
    form = {codes.gpu() + offset, scale.gpu(), inverse.gpu()};
    gpu().quantize_rowwise(*gpu_stream, args);
    expect_same_values(codes, "codes");
    expect_same_values(scale, "scales");
    expect_same_values(inverse, "inverse scales");
  }
};

TEST_F(GpuRowwise, CastsHaveTheBitsOfTheCpu) {
  for (const Matrix& matrix : matrices) {
    for (const std::int64_t offset : {0, 1}) {
      compare<bf16>(matrix, offset, true, true);
      compare<bf16>(matrix, offset, false, false);
      compare<float>(matrix, offset, true, false);
    }
  }
}

/// Rows in registers, 4 and 8 packs a thread, and longer ones; columns in clusters of eight and of sixteen blocks of
/// which some have no rows, one stripe and several, blocks that share a multiprocessor and that have one to themselves,
/// rows beyond what shared memory holds, too few rows, and rows that are not whole packs; at last one that needs more
/// shared memory than the one before it, and is known from before.
TEST_F(GpuRowwise, OneFormAloneHasTheBitsOfTheCpu) {
  for (const Matrix& matrix :
       {Matrix{1, 8}, {3, 24}, {5, 4096}, {3, 12296}, {2, 16384}, {2, 16392}, {2, 32768}, {2, 40000}, {4, 33}}) {
    for (const std::int64_t offset : {0, 1}) {
      compare_alone<bf16>(matrix, offset, true, offset == 1);
      compare_alone<float>(matrix, offset, true, offset == 0);
    }
  }
  for (const Matrix& matrix : {Matrix{1024, 64},
                               {1025, 200},
                               {2064, 72},
                               {3000, 16},
                               {4100, 2824},
                               {1024, 6408},
                               {13312, 40},
                               {28672, 24},
                               {40000, 8},
                               {1500, 33},
                               {900, 64},
                               {1100, 40},
                               {13312, 40}}) {
    for (const std::int64_t offset : {0, 1}) {
      compare_alone<bf16>(matrix, offset, false, offset == 1);
      compare_alone<float>(matrix, offset, false, offset == 0);
    }
  }
}

/// Several scales on either side or both, added or not, into both dtypes. The range of the scales is small, so that
/// errors of the sums stand for those of the result.
TEST_F(GpuRowwise, GemmsAgree) {
  constexpr std::int64_t m = 144, n = 96, k = 256;
  std::vector<e4m3> a_codes, b_codes;
  for (const float v : normal<float>(m * k, 1, 50.0)) a_codes.push_back(e4m3(v));
  for (const float v : normal<float>(n * k, 2, 50.0)) b_codes.push_back(e4m3(v));
  std::vector<float> scales;
  for (int i = 0; i < 144; ++i) scales.push_back(std::ldexp(1.0f, i % 5 - 10));
  Both<e4m3> a(*gpu_stream, a_codes), b(*gpu_stream, b_codes);
  Both<float> of_row(*gpu_stream, scales), of_column(*gpu_stream, scales);
  const auto compare = [&]<typename C>(int which, float beta, double tolerance, C) {
    SCOPED_TRACE(fmt::format("scales {}, beta {}, {}", which, beta, name_of(dtype_of<C>::value)));
    const auto form = [&](int side) { return (which & side) != 0 ? ScaleForm::each : ScaleForm::tensor; };
    Both<C> c(*gpu_stream, normal<C>(m * n, 7, 1.0));
    Gemm args{.a = {a.cpu(), DType::e4m3, false, of_row.cpu(), form(1)},
              .b = {b.cpu(), DType::e4m3, true, of_column.cpu(), form(2)},
              .c = c.cpu(),
              .c_dtype = dtype_of<C>::value,
              .m = m,
              .n = n,
              .k = k,
              .beta = beta};
    Buffer cpu_workspace(cpu_device(), cpu.gemm_workspace(args), Purpose::workspace);
    args.workspace = cpu_workspace.data(), args.workspace_bytes = cpu_workspace.bytes();
    cpu.gemm(*cpu_stream, args);
    args.a.data = a.gpu(), args.a.inverse_scale = of_row.gpu();
    args.b.data = b.gpu(), args.b.inverse_scale = of_column.gpu(), args.c = c.gpu();
    Buffer workspace(gpu_stream->device(), gpu().gemm_workspace(args), Purpose::workspace);
    args.workspace = workspace.data(), args.workspace_bytes = workspace.bytes();
    gpu().gemm(*gpu_stream, args);
    expect_close(c, tolerance, "c");
  };
  for (const int which : {1, 2, 3}) {
    for (const float beta : {0.0f, 1.0f}) {
      compare(which, beta, 1e-3, float{});
      compare(which, beta, 8e-3, bf16{});
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test

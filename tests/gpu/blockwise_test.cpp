// Casts with scales of vectors and of blocks, and GEMMs on them: GPU against CPU.
#include "kernels/blockwise.h"

#include <array>
#include <cmath>

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

/// One block, several in each direction, and more than 4 of them, so that lines of scales are padded.
constexpr std::array<Matrix, 4> block_matrices = {{{128, 128}, {256, 384}, {640, 256}, {1024, 4096}}};

template <typename From>
std::vector<From> values_of(const Matrix& matrix) {
  auto values = normal<From>(matrix.rows * matrix.columns, 3, 20.0);
  const auto at = [&](std::int64_t r, std::int64_t c) { return static_cast<std::size_t>(r * matrix.columns + c); };
  for (std::int64_t r = 0; r < 128; ++r) {
    for (std::int64_t c = 0; c < 128; ++c) values[at(r, matrix.columns - 1 - c)] = From(0.0f);
  }
  for (std::int64_t c = 0; c < 128; ++c) values[at(matrix.rows - 2, c)] = From(0.0f);
  values[at(matrix.rows - 1, 3)] = From(NAN);
  values[at(matrix.rows - 4, 70)] = From(INFINITY);
  values[at(5, 9 % matrix.columns)] = From(1e30f);
  return values;
}

class GpuBlockwise : public GpuTest {
 protected:
  template <typename From>
  void compare_vectors(Matrix matrix, bool transposed, bool power_of_two, DType to) {
    SCOPED_TRACE(fmt::format("{} x {}, transposed {}", matrix.rows, matrix.columns, transposed));
    const std::int64_t n = matrix.rows * matrix.columns;
    Both<From> x(*gpu_stream, values_of<From>(matrix));
    auto rows = Both<e4m3>::output(*gpu_stream, n), columns = Both<e4m3>::output(*gpu_stream, n);
    auto row_inverse = Both<float>::output(*gpu_stream, n / 128);
    auto column_inverse = Both<float>::output(*gpu_stream, n / 128);
    QuantizeVectors args{.x = x.cpu(),
                         .from = dtype_of<From>::value,
                         .rows = matrix.rows,
                         .columns = matrix.columns,
                         .to = to,
                         .power_of_two = power_of_two,
                         .by_row = {rows.cpu(), row_inverse.cpu()},
                         .by_column = {columns.cpu(), column_inverse.cpu()},
                         .column_transposed = transposed};
    cpu.quantize_vectors(*cpu_stream, args);
    args.x = x.gpu();
    args.by_row = {rows.gpu(), row_inverse.gpu()};
    args.by_column = {columns.gpu(), column_inverse.gpu()};
    gpu().quantize_vectors(*gpu_stream, args);
    expect_same_values(row_inverse, "inverse scales by row");
    expect_same_values(column_inverse, "inverse scales by column");
    expect_same_values(rows, "by row");
    expect_same_values(columns, "by column");
  }

  template <typename From>
  void compare_blocks(Matrix matrix, bool power_of_two, DType to) {
    SCOPED_TRACE(fmt::format("{} x {}", matrix.rows, matrix.columns));
    const std::int64_t n = matrix.rows * matrix.columns;
    Both<From> x(*gpu_stream, values_of<From>(matrix));
    auto y = Both<e4m3>::output(*gpu_stream, n), turned = Both<e4m3>::output(*gpu_stream, n);
    auto by_row = Both<float>::output(*gpu_stream, scale_count(ScaleForm::blocks, matrix.rows, matrix.columns));
    auto by_column = Both<float>::output(*gpu_stream, scale_count(ScaleForm::blocks, matrix.columns, matrix.rows));
    QuantizeBlocks args{.x = x.cpu(),
                        .from = dtype_of<From>::value,
                        .rows = matrix.rows,
                        .columns = matrix.columns,
                        .to = to,
                        .power_of_two = power_of_two,
                        .y = y.cpu(),
                        .y_transposed = turned.cpu(),
                        .inverse_scale_by_row = by_row.cpu(),
                        .inverse_scale_by_column = by_column.cpu()};
    cpu.quantize_blocks(*cpu_stream, args);
    args.x = x.gpu(), args.y = y.gpu(), args.y_transposed = turned.gpu();
    args.inverse_scale_by_row = by_row.gpu(), args.inverse_scale_by_column = by_column.gpu();
    gpu().quantize_blocks(*gpu_stream, args);
    expect_same_values(by_row, "inverse scales by row");
    expect_same_values(by_column, "inverse scales by column");
    expect_same_values(y, "codes");
    expect_same_values(turned, "transposed codes");
  }
};

TEST_F(GpuBlockwise, CastsOfVectorsHaveTheBitsOfTheCpu) {
  for (const Matrix& matrix : block_matrices) {
    for (const bool transposed : {true, false}) {
      compare_vectors<bf16>(matrix, transposed, true, DType::e4m3);
      compare_vectors<float>(matrix, transposed, false, DType::e4m3);
      compare_vectors<bf16>(matrix, transposed, false, DType::e5m2);
    }
  }
}

TEST_F(GpuBlockwise, CastsOfBlocksHaveTheBitsOfTheCpu) {
  for (const Matrix& matrix : block_matrices) {
    compare_blocks<bf16>(matrix, true, DType::e4m3);
    compare_blocks<float>(matrix, false, DType::e4m3);
    compare_blocks<float>(matrix, true, DType::e5m2);
  }
}

/// What cuBLASLt reads of our layouts, by every pair of forms, into both dtypes. The scales differ by powers of two, so
/// that one read from another's place shows; k has 5 blocks, which the layout of blocks pads to 8. Hopper alone.
TEST_F(GpuBlockwise, GemmsAgree) {
  constexpr std::int64_t m = 384, n = 256, k = 640;
  std::vector<e4m3> a_codes, b_codes;
  for (const float v : normal<float>(m * k, 1, 50.0)) a_codes.push_back(e4m3(v));
  for (const float v : normal<float>(n * k, 2, 50.0)) b_codes.push_back(e4m3(v));
  Both<e4m3> a(*gpu_stream, a_codes), b(*gpu_stream, b_codes);
  const auto scales = [&](ScaleForm form, std::int64_t kept) {
    std::vector<float> s;
    for (std::int64_t i = 0; i < scale_count(form, kept, k); ++i) s.push_back(std::ldexp(1.0f, int(i * 7 % 5) - 10));
    return Both<float>(*gpu_stream, s);
  };
  const auto compare = [&]<typename C>(ScaleForm of_a, ScaleForm of_b, float beta, double tolerance, C) {
    SCOPED_TRACE(fmt::format("{} x {}, beta {}, {}", name_of(of_a), name_of(of_b), beta, name_of(dtype_of<C>::value)));
    auto a_scales = scales(of_a, m), b_scales = scales(of_b, n);
    Both<C> c(*gpu_stream, normal<C>(m * n, 7, 1.0));
    Gemm args{.a = {a.cpu(), DType::e4m3, false, a_scales.cpu(), of_a},
              .b = {b.cpu(), DType::e4m3, true, b_scales.cpu(), of_b},
              .c = c.cpu(),
              .c_dtype = dtype_of<C>::value,
              .m = m,
              .n = n,
              .k = k,
              .beta = beta};
    Buffer cpu_workspace(cpu_device(), cpu.gemm_workspace(args), Purpose::workspace);
    args.workspace = cpu_workspace.data(), args.workspace_bytes = cpu_workspace.bytes();
    cpu.gemm(*cpu_stream, args);
    args.a.data = a.gpu(), args.a.inverse_scale = a_scales.gpu();
    args.b.data = b.gpu(), args.b.inverse_scale = b_scales.gpu(), args.c = c.gpu();
    Buffer workspace(gpu_stream->device(), gpu().gemm_workspace(args), Purpose::workspace);
    args.workspace = workspace.data(), args.workspace_bytes = workspace.bytes();
    gpu().gemm(*gpu_stream, args);
    expect_close(c, tolerance, "c");
  };
  for (const auto& [of_a, of_b] : {std::pair{ScaleForm::vectors, ScaleForm::blocks},
                                   {ScaleForm::blocks, ScaleForm::vectors},
                                   {ScaleForm::vectors, ScaleForm::vectors}}) {
    for (const float beta : {0.0f, 1.0f}) {
      compare(of_a, of_b, beta, 1e-3, float{});
      compare(of_a, of_b, beta, 8e-3, bf16{});
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test

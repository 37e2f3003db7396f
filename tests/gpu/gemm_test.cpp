// GEMM by cuBLASLt against the CPU's: every dtype, layout and beta, odd extents, chosen plans that are replayed.
#include <utility>

#include "kernels/cuda_settings.h"
#include "kernels/gemm_timing.h"
#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

struct Shape3 {
  std::int64_t m, n, k;
};

/// Sums of k products of normal values in fp32, relative to the result. Rounded to nearest, errors grow as the square
/// root of their number; tensor cores cut each sum of 16 products toward zero, so that theirs grow with the number.
double sum_tolerance(DType operands, std::int64_t k) {
  const double terms = static_cast<double>(k);
  if (operands == DType::f32) return 1e-6 * std::max(1.0, std::sqrt(terms / 256.0));
  return 1e-6 + terms / 16.0 * 0x1p-23;
}

class GpuGemm : public GpuTest {
 protected:
  void TearDown() override {
    set_cuda_settings({});
    use_gemm_choices({});
  }

  /// Runs on `stream` with as much workspace as that table wants, poisoned.
  static void run(const KernelTable& kernels, Stream& stream, Gemm args) {
    args.workspace_bytes = kernels.gemm_workspace(args);
    Buffer workspace(stream.device(), std::max<std::int64_t>(args.workspace_bytes, 1), Purpose::workspace);
    if (stream.device().type() == DeviceType::cpu) {
      std::memset(workspace.data(), 0xFF, static_cast<std::size_t>(workspace.bytes()));
    }
    args.workspace = workspace.data();
    kernels.gemm(stream, args);
    stream.synchronize();
  }

  /// `args` on both tables, with a, b and c filled in for each.
  template <typename A, typename B, typename C>
  void run_both(Gemm args, Both<A>& a, Both<B>& b, Both<C>& c, std::int64_t offset = 0) {
    args.a.data = a.cpu() + offset;
    args.b.data = b.cpu() + offset;
    args.c = c.cpu() + offset;
    run(cpu, *cpu_stream, args);
    args.a.data = a.gpu() + offset;
    args.b.data = b.gpu() + offset;
    args.c = c.gpu() + offset;
    run(gpu(), *gpu_stream, args);
  }

  /// With beta = 1 C holds values, else poison, which must not come through.
  template <typename C>
  Both<C> result(std::int64_t n, float beta) {
    return beta != 0.0f ? Both<C>(*gpu_stream, normal<C>(n, 3, 5.0)) : Both<C>::output(*gpu_stream, n);
  }

  template <typename T, typename C>
  void compare_storage(const Shape3& s, float beta, std::int64_t offset) {
    Both<T> a(*gpu_stream, normal<T>(s.m * s.k + offset, 1)), b(*gpu_stream, normal<T>(s.k * s.n + offset, 2));
    for (const int transposed : {0, 1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << "m " << s.m << " n " << s.n << " k " << s.k << " transposed " << transposed
                                      << " beta " << beta << " offset " << offset << " C of " << sizeof(C));
      Both<C> c = result<C>(s.m * s.n + offset, beta);
      Gemm args{.a = {.dtype = dtype_of<T>::value, .transposed = (transposed & 1) != 0},
                .b = {.dtype = dtype_of<T>::value, .transposed = (transposed & 2) != 0},
                .c_dtype = dtype_of<C>::value,
                .m = s.m,
                .n = s.n,
                .k = s.k,
                .beta = beta};
      run_both(args, a, b, c, offset);
      expect_close(c, sizeof(C) == 2 ? 0x1p-8 : sum_tolerance(dtype_of<T>::value, s.k), "C");
    }
  }

  template <typename A, typename B, typename C>
  void compare_float8(const Shape3& s, float beta, bool fast);
};

const Shape3 odd_shapes[] = {{1, 1, 1}, {5, 7, 3}, {33, 65, 17}, {128, 96, 64}, {257, 1, 100}, {1, 300, 129}};

TEST_F(GpuGemm, F32InEveryLayout) {
  for (const Shape3& s : odd_shapes) {
    for (const float beta : {0.0f, 1.0f}) compare_storage<float, float>(s, beta, 0);
  }
  compare_storage<float, float>({130, 70, 4097}, 1.0f, 0);
}

TEST_F(GpuGemm, Bf16InEveryLayout) {
  for (const Shape3& s : odd_shapes) {
    for (const float beta : {0.0f, 1.0f}) {
      compare_storage<bf16, bf16>(s, beta, 0);
      compare_storage<bf16, float>(s, beta, 0);
    }
  }
  compare_storage<bf16, bf16>({512, 384, 4096}, 0.0f, 0);
  compare_storage<bf16, float>({384, 512, 8192}, 1.0f, 0);  // few tiles and a long sum, where k may be split
}

TEST_F(GpuGemm, PointersAlignedToOneElement) {
  for (const std::int64_t offset : {1, 2, 8}) {
    compare_storage<float, float>({64, 48, 80}, 1.0f, offset);
    compare_storage<bf16, bf16>({64, 48, 80}, 0.0f, offset);
    compare_storage<bf16, float>({64, 48, 80}, 1.0f, offset);
  }
}

template <typename T>
std::vector<float> dequantised(const std::vector<T>& codes, float inverse_scale) {
  std::vector<float> x(codes.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(codes[i]) * inverse_scale;
  return x;
}

/// What the tensor cores may lose (they add products in blocks, cut to 13 bits below the largest): measured against
/// float64 on a model of them about 1e-4 with promotion to fp32 and up to 3e-3 without; the rest is C's rounding.
double float8_tolerance(bool fast, std::size_t size_of_c) {
  return (fast ? 6e-3 : 5e-4) + (size_of_c == 2 ? 0x1p-8 : 0.0);
}

/// The reference is the fp32 product of the dequantised values, on the CPU.
template <typename A, typename B, typename C>
void GpuGemm::compare_float8(const Shape3& s, float beta, bool fast) {
  SCOPED_TRACE(testing::Message() << "m " << s.m << " n " << s.n << " k " << s.k << " beta " << beta << " fast " << fast
                                  << " " << name_of(dtype_of<A>::value) << " x " << name_of(dtype_of<B>::value));
  Both<A> a(*gpu_stream, normal<A>(s.m * s.k, 4, 20.0));
  Both<B> b(*gpu_stream, normal<B>(s.n * s.k, 5, 20.0));
  Both<float> a_scale(*gpu_stream, {0.0371f}), b_scale(*gpu_stream, {0.01913f});
  const float c_sigma = 5.0f;
  Both<C> c =
      beta != 0.0f ? Both<C>(*gpu_stream, normal<C>(s.m * s.n, 6, c_sigma)) : Both<C>::output(*gpu_stream, s.m * s.n);
  Gemm args{.a = {.data = a.gpu(), .dtype = dtype_of<A>::value, .transposed = false, .inverse_scale = a_scale.gpu()},
            .b = {.data = b.gpu(), .dtype = dtype_of<B>::value, .transposed = true, .inverse_scale = b_scale.gpu()},
            .c = c.gpu(),
            .c_dtype = dtype_of<C>::value,
            .m = s.m,
            .n = s.n,
            .k = s.k,
            .beta = beta,
            .fast_accumulate = fast};
  run(gpu(), *gpu_stream, args);

  const std::vector<float> wide_a = dequantised(a.host(), 0.0371f), wide_b = dequantised(b.host(), 0.01913f);
  args.a = {.data = wide_a.data(), .dtype = DType::f32, .transposed = false};
  args.b = {.data = wide_b.data(), .dtype = DType::f32, .transposed = true};
  args.c = c.cpu();
  run(cpu, *cpu_stream, args);
  expect_close(c, float8_tolerance(fast, sizeof(C)), "C");
}

TEST_F(GpuGemm, Float8AgainstDequantisedProducts) {
  for (const Shape3& s : {Shape3{16, 16, 16}, Shape3{128, 256, 512}, Shape3{48, 80, 2064}, Shape3{272, 112, 4096}}) {
    for (const float beta : {0.0f, 1.0f}) {
      for (const bool fast : {false, true}) {
        compare_float8<e4m3, e4m3, bf16>(s, beta, fast);
        compare_float8<e4m3, e4m3, float>(s, beta, fast);
      }
      compare_float8<e5m2, e4m3, bf16>(s, beta, false);
      compare_float8<e5m2, e4m3, float>(s, beta, false);
      compare_float8<e4m3, e5m2, float>(s, beta, false);
    }
  }
}

TEST_F(GpuGemm, Float8NanComesThrough) {
  const std::int64_t size = 32;
  std::vector<e4m3> values = normal<e4m3>(size * size, 7);
  Both<e4m3> b(*gpu_stream, values);
  values[5 * 32 + 3] = e4m3::from_bits(0x7F);
  Both<e4m3> a(*gpu_stream, values);
  Both<float> one(*gpu_stream, {1.0f}), c = Both<float>::output(*gpu_stream, size * size);
  run(gpu(), *gpu_stream,
      {.a = {.data = a.gpu(), .dtype = DType::e4m3, .transposed = false, .inverse_scale = one.gpu()},
       .b = {.data = b.gpu(), .dtype = DType::e4m3, .transposed = true, .inverse_scale = one.gpu()},
       .c = c.gpu(),
       .m = size,
       .n = size,
       .k = size});
  const std::vector<float> got = c.download();
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(std::isnan(got[i]), i / 32 == 5) << i;
}

TEST_F(GpuGemm, NothingToMultiply) {
  for (const float beta : {0.0f, 1.0f}) {
    Both<float> c(*gpu_stream, normal<float>(12, 8)), nothing(*gpu_stream, {});
    run_both({.a = {}, .b = {}, .m = 3, .n = 4, .k = 0, .beta = beta}, nothing, nothing, c);
    expect_same_bits(c, "C");
  }
}

/// What was timed, on operands of its own, is in force and gives the same bits whenever it runs.
TEST_F(GpuGemm, TimedChoicesLeaveOperandsAloneAndAreReplayed) {
  const Shape3 s{256, 512, 1024};
  Both<bf16> a(*gpu_stream, normal<bf16>(s.m * s.k, 9)), b(*gpu_stream, normal<bf16>(s.n * s.k, 10));
  Both<float> left_alone(*gpu_stream, normal<float>(s.m * s.n, 11));
  Gemm args{.a = {.data = a.gpu(), .dtype = DType::bf16},
            .b = {.data = b.gpu(), .dtype = DType::bf16, .transposed = true},
            .c = left_alone.gpu(),
            .m = s.m,
            .n = s.n,
            .k = s.k,
            .beta = 1.0f};
  const AlgorithmChoices choices = time_gemms(*gpu_stream, {&args, 1});
  ASSERT_EQ(choices.by_problem.size(), 1u);
  EXPECT_EQ(choices.by_problem.begin()->first, gemm_problem(args));
  EXPECT_EQ(choices.platform, gemm_platform(*gpu_stream));
  expect_same_bits(left_alone, "C");
  const auto product = [&] {
    Both<float> c(*gpu_stream, normal<float>(s.m * s.n, 11));
    run_both(args, a, b, c);
    expect_close(c, sum_tolerance(DType::bf16, s.k), "C");
    return c.download();
  };
  use_gemm_choices(parse_algorithm_choices(AlgorithmKind::gemm, text_of(choices), "the text"));
  const std::vector<float> first = product();
  EXPECT_EQ(product(), first);
}

/// Every form of scales and every alignment is timed, by the products that the library multiplies.
TEST_F(GpuGemm, EveryProductOfFloat8IsTimed) {
  Both<float> memory(*gpu_stream, std::vector<float>(1 << 16));  // nobody follows pointers
  float* const at = memory.gpu();
  for (const auto& [a, b] :
       {std::pair{ScaleForm::tensor, ScaleForm::tensor}, std::pair{ScaleForm::each, ScaleForm::each},
        std::pair{ScaleForm::each, ScaleForm::tensor}, std::pair{ScaleForm::vectors, ScaleForm::blocks}}) {
    Gemm args{.a = {.data = at, .dtype = DType::e4m3, .inverse_scale = at, .scales = a},
              .b = {.data = at + 4, .dtype = DType::e4m3, .transposed = true, .inverse_scale = at, .scales = b},
              .c = at,
              .c_dtype = DType::bf16,
              .m = 256,
              .n = 384,
              .k = 128,
              .workspace = at};
    const std::vector<Gemm> products = library_products(*gpu_stream, args);
    EXPECT_EQ(time_gemms(*gpu_stream, products).by_problem.size(), products.size()) << text_of(args);
  }
}

TEST_F(GpuGemm, DeterministicGivesTheSameBitsAgain) {
  CudaSettings settings;
  settings.deterministic = true;
  set_cuda_settings(settings);
  const Shape3 s{64, 64, 65536};  // one tile and a long sum: the case for splitting k
  Both<bf16> a(*gpu_stream, normal<bf16>(s.m * s.k, 12)), b(*gpu_stream, normal<bf16>(s.n * s.k, 13));
  std::vector<float> first;
  for (int i = 0; i < 5; ++i) {
    Both<float> c = Both<float>::output(*gpu_stream, s.m * s.n);
    run(gpu(), *gpu_stream,
        {.a = {.data = a.gpu(), .dtype = DType::bf16, .transposed = true},
         .b = {.data = b.gpu(), .dtype = DType::bf16},
         .c = c.gpu(),
         .m = s.m,
         .n = s.n,
         .k = s.k});
    const std::vector<float> got = c.download();
    if (i == 0) first = got;
    ASSERT_EQ(std::memcmp(got.data(), first.data(), got.size() * sizeof(float)), 0) << "run " << i;
  }
}

}  // namespace
}  // namespace octet::gpu_test

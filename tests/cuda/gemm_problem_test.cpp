// What a GEMM is refused for, and what it looks like to cuBLASLt. No library and no device.
#include "kernels/cuda/gemm/gemm_problem.h"

#include <set>

#include "kernels/cuda/cuda_kernels.h"
#include "tests/cuda/gemm_arguments.h"
#include "tests/support/error_of.h"

namespace octet::cuda_test {
namespace {

using namespace octet::cuda;

std::string refusal(const Gemm& args) {
  return test::error_or_none([&] { check_gemm(args); }, ExitCode::internal);
}

TEST(GemmCheck, AcceptsWhatTheModelUses) {
  const std::pair<DType, DType> operands[] = {{DType::f32, DType::f32},
                                              {DType::bf16, DType::bf16},
                                              {DType::e4m3, DType::e4m3},
                                              {DType::e5m2, DType::e4m3},
                                              {DType::e4m3, DType::e5m2}};
  for (const auto& [a, b] : operands) {
    for (const DType c : {DType::f32, DType::bf16}) {
      if (a == DType::f32 && c == DType::bf16) continue;
      for (const float beta : {0.0f, 1.0f}) {
        Gemm args = linear_gemm(a, b, c);
        args.beta = beta;
        EXPECT_EQ(refusal(args), "");
      }
    }
  }
  for (const int transposed : {0, 1, 2, 3}) {
    Gemm args = linear_gemm();
    args.a.transposed = (transposed & 1) != 0;
    args.b.transposed = (transposed & 2) != 0;
    args.m = 7;
    args.k = 5;
    args.a.data = address(0x10002);
    EXPECT_EQ(refusal(args), "");
  }
}

TEST(GemmCheck, DtypesThatDoNotGoTogether) {
  EXPECT_EQ(refusal(linear_gemm(DType::f32, DType::bf16)),
            "[kernels] gemm of m 64 n 96 k 128, f32 x bf16' > bf16: operands must be both f32, both bf16 or both fp8");
  EXPECT_EQ(refusal(linear_gemm(DType::e4m3, DType::bf16)),
            "[kernels] gemm of m 64 n 96 k 128, e4m3 x bf16' > bf16: operands must be both f32, both bf16 or both fp8");
  EXPECT_EQ(refusal(linear_gemm(DType::i32, DType::i32)),
            "[kernels] gemm of m 64 n 96 k 128, i32 x i32' > bf16: operands must be both f32, both bf16 or both fp8");
  EXPECT_EQ(refusal(linear_gemm(DType::e5m2, DType::e5m2)),
            "[kernels] gemm of m 64 n 96 k 128, e5m2 x e5m2' > bf16: e5m2 is multiplied by e4m3 only");
  EXPECT_EQ(refusal(linear_gemm(DType::f32, DType::f32, DType::bf16)),
            "[kernels] gemm of m 64 n 96 k 128, f32 x f32' > bf16: f32 operands give an f32 result");
  EXPECT_EQ(refusal(linear_gemm(DType::bf16, DType::bf16, DType::e4m3)),
            "[kernels] gemm of m 64 n 96 k 128, bf16 x bf16' > e4m3: the result must be f32 or bf16");
}

TEST(GemmCheck, Float8ThatHopperCannotDo) {
  const Gemm good = linear_gemm(DType::e5m2, DType::e4m3);
  Gemm args = good;
  args.a.transposed = true;
  EXPECT_EQ(refusal(args),
            "[kernels] gemm of m 64 n 96 k 128, e5m2' x e4m3' > bf16: fp8 operands must have k contiguous, and a is "
            "stored [k, m]: pass its transposed copy");
  args = good;
  args.b.transposed = false;
  EXPECT_EQ(refusal(args),
            "[kernels] gemm of m 64 n 96 k 128, e5m2 x e4m3 > bf16: fp8 operands must have k contiguous, and b is "
            "stored [k, n]: pass its transposed copy");
  for (std::int64_t Gemm::*extent : {&Gemm::m, &Gemm::n, &Gemm::k}) {
    args = good;
    args.*extent += 8;
    EXPECT_NE(refusal(args).find("fp8 wants m, n and k to be multiples of 16"), std::string::npos) << refusal(args);
  }
  args = good;
  args.a.inverse_scale = nullptr;
  EXPECT_NE(refusal(args).find("a has no inverse scale"), std::string::npos);
  args = good;
  args.b.inverse_scale = nullptr;
  EXPECT_NE(refusal(args).find("b has no inverse scale"), std::string::npos);
  args = good;
}

/// Every address that the library has a rule for, off by half of it, and far enough.
TEST(GemmCheck, AddressesThatTheLibraryRefuses) {
  const auto refused = [](void (*change)(Gemm&, std::uintptr_t offset), std::uintptr_t alignment, const char* name) {
    Gemm args = linear_gemm(DType::e5m2, DType::e4m3);
    change(args, alignment / 2);
    EXPECT_EQ(
        refusal(args).find(fmt::format("[kernels] gemm of m 64 n 96 k 128, e5m2 x e4m3' > bf16: {} must lie on {} "
                                       "bytes and is at 0x",
                                       name, alignment)),
        0u)
        << name << ": " << refusal(args);
    args = linear_gemm(DType::e5m2, DType::e4m3);
    change(args, alignment);
    EXPECT_EQ(refusal(args), "") << name;
  };
  refused([](Gemm& g, std::uintptr_t o) { g.a.inverse_scale = static_cast<const float*>(address(0x500 + o)); }, 16,
          "a's inverse scale");
  refused([](Gemm& g, std::uintptr_t o) { g.b.inverse_scale = static_cast<const float*>(address(0x600 + o)); }, 16,
          "b's inverse scale");
  refused([](Gemm& g, std::uintptr_t o) { g.a.data = address(0x10000 + o); }, 16, "a");
  refused([](Gemm& g, std::uintptr_t o) { g.b.data = address(0x20000 + o); }, 16, "b");
  refused([](Gemm& g, std::uintptr_t o) { g.c = address(0x30000 + o); }, 16, "c");
  refused([](Gemm& g, std::uintptr_t o) { g.workspace = address(0x40000 + o); }, 256, "the workspace");
}

TEST(GemmCheck, WhatMustBeThere) {
  Gemm args = linear_gemm();
  args.c = nullptr;
  EXPECT_NE(refusal(args).find("a, b or c is null"), std::string::npos);
  args = linear_gemm();
  args.beta = 0.5f;
  EXPECT_NE(refusal(args).find("beta is 0.5, expected 0 or 1"), std::string::npos);
  args = linear_gemm();
  args.m = -1;
  EXPECT_NE(refusal(args).find("extents must be positive"), std::string::npos);
  args = linear_gemm();
  args.workspace_bytes = 1000;
  EXPECT_NE(refusal(args).find("has 1000 bytes of workspace and needs 33554432"), std::string::npos);
  args.workspace = nullptr;
  EXPECT_NE(refusal(args).find("has 0 bytes of workspace"), std::string::npos);
}

TEST(GemmDescribe, AlignmentIsThePowerOfTwoOfThePointer) {
  Gemm args = linear_gemm();
  args.a.data = address(0x10002);
  args.b.data = address(0x20040);
  args.c = address(0x30001000);
  const GemmProblem p = describe(args);
  EXPECT_EQ(p.a_alignment, 2);
  EXPECT_EQ(p.b_alignment, 64);
  EXPECT_EQ(p.c_alignment, 256);
  EXPECT_EQ(p.text(), "m64 n96 k128 bf16 x bf16' > bf16 beta0 align 2 64 256");
}

TEST(GemmDescribe, FastAccumulationIsOfFloat8Alone) {
  Gemm args = linear_gemm();
  args.fast_accumulate = true;
  EXPECT_FALSE(describe(args).fast_accumulate);
  args = linear_gemm(DType::e4m3, DType::e4m3);
  args.fast_accumulate = true;
  EXPECT_TRUE(describe(args).fast_accumulate);
  EXPECT_EQ(describe(args).text(), "m64 n96 k128 e4m3 x e4m3' > bf16 beta0 fast align 256 256 256");
}

/// Every field apart gives another key and another text: two problems never share a plan.
TEST(GemmDescribe, TheKeyTellsProblemsApart) {
  std::vector<Gemm> all(1, linear_gemm());
  const auto add = [&](auto change) {
    all.push_back(linear_gemm());
    change(all.back());
  };
  add([](Gemm& g) { g.m = 65; });
  add([](Gemm& g) { g.n = 97; });
  add([](Gemm& g) { g.k = 129; });
  add([](Gemm& g) { g.a.transposed = true; });
  add([](Gemm& g) { g.b.transposed = false; });
  add([](Gemm& g) { g.a.dtype = g.b.dtype = g.c_dtype = DType::f32; });
  add([](Gemm& g) { g.c_dtype = DType::f32; });
  add([](Gemm& g) { g.beta = 1.0f; });
  add([](Gemm& g) { g.a.data = address(0x10010); });
  add([](Gemm& g) { g.b.data = address(0x20010); });
  add([](Gemm& g) { g.c = address(0x30010); });
  add([](Gemm& g) { g.multiprocessors = 108; });
  add([](Gemm& g) { g.multiprocessors = 116; });
  all.push_back(linear_gemm(DType::e4m3, DType::e4m3));
  all.push_back(linear_gemm(DType::e5m2, DType::e4m3));
  all.push_back(linear_gemm(DType::e4m3, DType::e5m2));
  add([](Gemm& g) {
    g = linear_gemm(DType::e4m3, DType::e4m3);
    g.fast_accumulate = true;
  });
  add([](Gemm& g) {
    g = linear_gemm(DType::e4m3, DType::e4m3);
    g.a.scales = g.b.scales = ScaleForm::each;
  });
  for (const auto& [a, b] : {std::pair{ScaleForm::vectors, ScaleForm::blocks},
                             {ScaleForm::blocks, ScaleForm::vectors},
                             {ScaleForm::vectors, ScaleForm::vectors}}) {
    all.push_back(linear_gemm(DType::e4m3, DType::e4m3));
    all.back().a.scales = a, all.back().b.scales = b;
  }
  std::set<GemmProblem> keys;
  std::set<std::string> texts;
  for (const Gemm& g : all) {
    keys.insert(describe(g));
    texts.insert(describe(g).text());
  }
  EXPECT_EQ(keys.size(), all.size());
  EXPECT_EQ(texts.size(), all.size());
}

TEST(GemmDescribe, MultiprocessorsAreInTheText) {
  Gemm args = linear_gemm();
  args.multiprocessors = 108;
  EXPECT_EQ(describe(args).text(), "m64 n96 k128 bf16 x bf16' > bf16 beta0 on 108 multiprocessors align 256 256 256");
}

TEST(GemmDescribe, ScalesAlongTheSumAreInTheText) {
  Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
  args.a.scales = ScaleForm::vectors;
  args.b.scales = ScaleForm::blocks;
  EXPECT_EQ(describe(args).text(), "m64 n96 k128 e4m3 x e4m3' > bf16 beta0 scales vectors x blocks align 256 256 256");
}

/// The rules that a launch meets are those that the kernels of both devices ask (check_operands).
TEST(GemmCheck, ScalesAlongTheSum) {
  const auto blockwise = [](ScaleForm a, ScaleForm b) {
    Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
    args.m = args.n = args.k = 256;
    args.a.scales = a, args.b.scales = b;
    return args;
  };
  EXPECT_EQ(refusal(blockwise(ScaleForm::vectors, ScaleForm::vectors)), "");
  EXPECT_EQ(refusal(blockwise(ScaleForm::vectors, ScaleForm::blocks)), "");
  EXPECT_EQ(refusal(blockwise(ScaleForm::blocks, ScaleForm::vectors)), "");
  EXPECT_NE(refusal(blockwise(ScaleForm::blocks, ScaleForm::blocks)).find("scales of blocks on both sides"),
            std::string::npos);
  EXPECT_NE(refusal(blockwise(ScaleForm::vectors, ScaleForm::each)).find("go with"), std::string::npos);
  Gemm args = blockwise(ScaleForm::vectors, ScaleForm::blocks);
  args.a.dtype = DType::e5m2;
  EXPECT_EQ(refusal(args), "");
  args.n = 192;
  EXPECT_EQ(refusal(args),
            "[kernels] gemm of m 256 n 192 k 256, e5m2 of vectors x e4m3' of blocks > bf16: with scales of vectors or "
            "blocks m, n and k are multiples of 128");
  args = blockwise(ScaleForm::vectors, ScaleForm::blocks);
  args.fast_accumulate = true;
  EXPECT_NE(refusal(args).find("no fast accumulation"), std::string::npos);
  EXPECT_EQ(workspace_bytes_of(args), 32 << 20);  // the library applies them, nothing is scaled apart
}

TEST(GemmDescribe, OtherPointersAndScalesShareAPlan) {
  Gemm args = linear_gemm(DType::e4m3, DType::e4m3), other = args;
  other.a.data = address(0x910000);
  other.b.inverse_scale = static_cast<const float*>(address(0x777700));
  other.workspace = address(0x5000000);
  EXPECT_EQ(describe(args), describe(other));
}

/// Multiplies as cuBLASLt is documented to, by the layouts alone: D = op(first) · op(second), all column-major.
std::vector<int> library_product(const LibraryLayouts& l, const std::vector<int>& first,
                                 const std::vector<int>& second) {
  const auto at = [](const std::vector<int>& x, const ColumnMajor& m, std::int64_t row, std::int64_t column) {
    if (m.transposed) std::swap(row, column);
    EXPECT_LT(row, m.rows);
    EXPECT_LT(column, m.columns);
    return x.at(static_cast<std::size_t>(column * m.rows + row));
  };
  const std::int64_t depth = l.first.transposed ? l.first.rows : l.first.columns;
  std::vector<int> d(static_cast<std::size_t>(l.result.rows * l.result.columns));
  for (std::int64_t j = 0; j < l.result.columns; ++j) {
    for (std::int64_t i = 0; i < l.result.rows; ++i) {
      for (std::int64_t p = 0; p < depth; ++p) {
        d[static_cast<std::size_t>(j * l.result.rows + i)] += at(first, l.first, i, p) * at(second, l.second, p, j);
      }
    }
  }
  return d;
}

/// The workspace is the library's and, with several scales, room for fp32 sums of some rows of C.
TEST(GemmWorkspace, HoldsTheSumsThatAreScaledApart) {
  Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
  EXPECT_EQ(workspace_bytes_of(args), 32 << 20);
  args.b.scales = ScaleForm::each;
  EXPECT_EQ(rows_of_sums(args), args.m);
  EXPECT_EQ(workspace_bytes_of(args), (32 << 20) + 64 * 96 * 4);
  args.workspace_bytes = 32 << 20;
  EXPECT_NE(refusal(args).find("bytes of workspace and needs 33579008"), std::string::npos) << refusal(args);
  args.m = args.n = 14336;
  EXPECT_EQ(rows_of_sums(args), 1168);  // 64 MiB over rows of 56 KiB, in whole sixteens
  args.n = 1 << 24;
  EXPECT_EQ(rows_of_sums(args), 16);
}

TEST(GemmLayouts, EveryTranspositionGivesTheRowMajorProduct) {
  const std::int64_t m = 3, n = 4, k = 5;
  std::vector<int> a(15), b(20);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int>(i * i % 7) - 2;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int>(i * 5 % 11) - 4;
  for (const int transposed : {0, 1, 2, 3}) {
    Gemm args = linear_gemm();
    args.m = m;
    args.n = n;
    args.k = k;
    args.a.transposed = (transposed & 1) != 0;
    args.b.transposed = (transposed & 2) != 0;
    const auto got = library_product(layouts_of(describe(args)), b, a);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        int sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum += a[static_cast<std::size_t>(args.a.transposed ? p * m + i : i * k + p)] *
                 b[static_cast<std::size_t>(args.b.transposed ? j * k + p : p * n + j)];
        }
        EXPECT_EQ(got[static_cast<std::size_t>(i * n + j)], sum) << transposed << ": " << i << " " << j;
      }
    }
  }
}

TEST(GemmLayouts, Float8IsTheTnForm) {
  const LibraryLayouts l = layouts_of(describe(linear_gemm(DType::e5m2, DType::e4m3)));
  EXPECT_TRUE(l.first.transposed);
  EXPECT_FALSE(l.second.transposed);
  EXPECT_EQ(l.first.type, CUDA_R_8F_E4M3);  // our b
  EXPECT_EQ(l.second.type, CUDA_R_8F_E5M2);
  EXPECT_EQ(l.result.type, CUDA_R_16BF);
  EXPECT_EQ(l.first.rows, 128);  // the leading dimension of both is k
  EXPECT_EQ(l.second.rows, 128);
  EXPECT_EQ(l.result.rows, 96);
}

TEST(CudaGemm, NothingToMultiply) {
  const auto stream = cpu_device().make_stream();  // no launch is reached
  std::vector<float> c(12, 3.0f);
  Gemm args;
  args.c = c.data();
  args.m = 3;
  args.n = 4;
  args.beta = 1.0f;
  EXPECT_EQ(cuda::gemm_workspace(args), 0);
  cuda::gemm(*stream, args);
  EXPECT_EQ(c, std::vector<float>(12, 3.0f));
  args.beta = 0.0f;
  cuda::gemm(*stream, args);
  EXPECT_EQ(c, std::vector<float>(12, 0.0f));
  args.m = 0;
  args.k = 5;
  args.c = nullptr;
  cuda::gemm(*stream, args);
  EXPECT_EQ(cuda::gemm_workspace(args), 0);
  EXPECT_EQ(cuda::gemm_workspace(linear_gemm()), 32 << 20);
  EXPECT_NE(test::error_of([&] { cuda::gemm(*stream, linear_gemm(DType::f32, DType::bf16)); }, ExitCode::internal), "");
}

}  // namespace
}  // namespace octet::cuda_test

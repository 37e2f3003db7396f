// Plans against a recording stand-in for cuBLASLt: what is asked of it, what is cached and launched.
#include "tests/cuda/gemm_plans_test.h"

#include <algorithm>
#include <cstring>

#include "src/device/cuda/dynamic_library.h"
#include "tests/support/error_of.h"

namespace octet::cuda_test {
namespace {

using namespace octet::cuda;

using Words = std::vector<std::uint64_t>;
Words layout(const cublasLtMatrixLayoutOpaque_t& l) {
  return {l.data, l.data + 4};
}

TEST_F(GemmPlansTest, OnePlanAProblem) {
  GemmPlans cache = plans();
  Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
  const GemmPlan* first = &cache.of(args);
  args.a.data = address(0x7710000);
  args.a.inverse_scale = static_cast<const float*>(address(0x900));
  EXPECT_EQ(&cache.of(args), first);
  EXPECT_EQ(fake.heuristics.size(), 1u);
  args.beta = 1.0f;
  EXPECT_NE(&cache.of(args), first);
  args.m += 16;
  cache.of(args);
  EXPECT_EQ(fake.heuristics.size(), 3u);
  args.m -= 16;
  args.beta = 0.0f;
  EXPECT_EQ(&cache.of(args), first);
  EXPECT_EQ(fake.heuristics.size(), 3u);
}

/// A scale for each row and column: both modes, by pointers to vectors, and a plan that says so when there is none.
TEST_F(GemmPlansTest, OuterVectorScales) {
  Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
  GemmPlans cache = plans();
  EXPECT_TRUE(cache.of(args).supported);
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_A_SCALE_MODE), 0u);
  args.a.scales = ScaleForm::each;  // of one operand alone is not for the library
  EXPECT_FALSE(describe(args).outer_scales());
  args.b.scales = ScaleForm::each;
  EXPECT_TRUE(cache.of(args).supported);
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_A_SCALE_MODE), 0x3'0000'0003u);  // of both operands
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER), 0x600u);       // of our b
  EXPECT_NE(describe(args).text().find(" outer scales "), std::string::npos);

  args.m += 16;
  fake.proposals.clear();
  fake.heuristic_status = CUBLAS_STATUS_NOT_SUPPORTED;
  EXPECT_FALSE(cache.of(args).supported);
  EXPECT_FALSE(cache.of(args).supported);
  EXPECT_EQ(fake.heuristics.size(), 3u);  // asked once a problem
  args.a.scales = args.b.scales = ScaleForm::tensor;
  EXPECT_THROW(cache.of(args), Error);
}

/// The library's first operand is our b, so that its modes are b's and then a's.
TEST_F(GemmPlansTest, ScalesOfVectorsAndBlocks) {
  const auto modes = [&](ScaleForm a, ScaleForm b) {
    const Gemm args = blockwise_gemm(a, b);
    const GemmPlan plan = plans().of(args);
    EXPECT_TRUE(plan.supported);
    EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_FAST_ACCUM), 0u);
    EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER), 0x600u);  // of our b
    EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER), 0x500u);
    EXPECT_EQ(run(fake_cublas_lt(), nullptr, plan, args, nullptr), CUBLAS_STATUS_SUCCESS) << fake.broken_rule;
    const std::uint64_t launched = FakeLibrary::at(fake.launches.back().operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
    EXPECT_EQ(launched, described(CUBLASLT_MATMUL_DESC_A_SCALE_MODE));
    return std::pair{launched & 0xFFFF'FFFFu, launched >> 32};
  };
  constexpr std::uint64_t vectors = 4, blocks = 5;  // VEC128_32F, BLK128x128_32F
  EXPECT_EQ(modes(ScaleForm::vectors, ScaleForm::blocks), (std::pair{blocks, vectors}));
  EXPECT_EQ(modes(ScaleForm::blocks, ScaleForm::vectors), (std::pair{vectors, blocks}));
  EXPECT_EQ(modes(ScaleForm::vectors, ScaleForm::vectors), (std::pair{vectors, vectors}));
}

/// A GPU other than Hopper: the plan says that the scales are to be applied apart.
TEST_F(GemmPlansTest, OuterVectorScalesWhereTheGpuHasNone) {
  Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
  args.a.scales = args.b.scales = ScaleForm::each;
  fake.hopper = false;
  EXPECT_FALSE(plans({}, "NVIDIA B200").of(args).supported);
  EXPECT_EQ(fake.broken_rule, "outer-vector scales are of Hopper alone");
}

/// Nothing scales them apart: a GPU without them is an error that says what to do.
TEST_F(GemmPlansTest, ScalesOfBlocksWhereTheGpuHasNone) {
  const Gemm args = blockwise_gemm(ScaleForm::vectors, ScaleForm::blocks);
  fake.hopper = false;
  EXPECT_EQ(test::error_of([&] { plans({}, "NVIDIA B200").of(args); }),
            fmt::format("[kernels] cuBLASLt {} has no algorithm for gemm {} on NVIDIA B200: SOME_ERROR. Scales of "
                        "vectors and blocks need a GPU of Hopper (H100, H200); take another float8.recipe here",
                        fake.version, describe(args).text()));
  EXPECT_EQ(fake.broken_rule, "block scales are of Hopper alone");
}

/// Each rule of these modes, at the heuristic and at a launch, whatever check_gemm would say before.
TEST_F(GemmPlansTest, TheStandInRefusesBlockScalesAsTheLibraryDoes) {
  const auto rule = [&](auto change) {
    Gemm args = blockwise_gemm(ScaleForm::vectors, ScaleForm::blocks);
    change(args);
    EXPECT_NE(test::error_of([&] { plans().of(args); }), "");
    return fake.broken_rule;
  };
  EXPECT_EQ(rule([](Gemm& g) { g.a.scales = ScaleForm::blocks; }), "blocks by blocks");
  EXPECT_EQ(rule([](Gemm& g) { g.k = 192; }), "block scales want k in whole blocks");
  EXPECT_EQ(rule([](Gemm& g) { g.fast_accumulate = true; }), "block scales with fast accumulation");
  EXPECT_EQ(rule([](Gemm& g) { g.a.dtype = g.b.dtype = DType::e5m2; }), "e5m2 by e5m2");

  const auto launched = [&](auto change) {
    Gemm args = blockwise_gemm(ScaleForm::vectors, ScaleForm::blocks);
    const GemmPlan plan = plans().of(args);
    change(args);
    EXPECT_EQ(run(fake_cublas_lt(), nullptr, plan, args, nullptr), CUBLAS_STATUS_NOT_SUPPORTED);
    return fake.broken_rule;
  };
  EXPECT_EQ(launched([](Gemm& g) { g.a.inverse_scale += 1; }), "a scale off 16 bytes");
  EXPECT_EQ(launched([](Gemm& g) { g.b.inverse_scale = nullptr; }), "block scales want both operands' scales");
  EXPECT_EQ(launched([](Gemm& g) { g.a.scales = ScaleForm::blocks; }), "blocks by blocks");

  // What our own code never describes.
  const auto described = [](auto change) {
    Product p{.scale_mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F,
              .scale_mode_b = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
              .a = {.type = CUDA_R_8F_E4M3, .rows = 128, .columns = 384, .leading = 128},
              .b = {.type = CUDA_R_8F_E4M3, .rows = 128, .columns = 256, .leading = 128},
              .c = {},
              .d = {.type = CUDA_R_16BF, .rows = 384, .columns = 256, .leading = 384}};
    change(p);
    return rules::scale_modes(p, 130100, true);
  };
  EXPECT_EQ(described([](Product&) {}), "");
  EXPECT_EQ(described([](Product& p) { p.scale_mode_b = 0; }), "block scales with others");
  EXPECT_EQ(described([](Product& p) { p.scale_mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F; }),
            "block scales with others");
  EXPECT_EQ(described([](Product& p) { p.a.type = p.b.type = CUDA_R_16BF; }), "block scales are for fp8 alone");
  EXPECT_EQ(described([](Product& p) { p.d.type = CUDA_R_8F_E4M3; }), "the type of a product with block scales");
  EXPECT_EQ(described([](Product& p) { p.b.columns = 258; }), "block scales want m and n in fours");
}

TEST_F(GemmPlansTest, Float8Attributes) {
  Gemm args = linear_gemm(DType::e5m2, DType::e4m3, DType::f32);
  plans().of(args);
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), std::uint64_t{CUBLAS_COMPUTE_32F});
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_SCALE_TYPE), std::uint64_t{CUDA_R_32F});
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_TRANSA), std::uint64_t{CUBLAS_OP_T});
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_TRANSB), std::uint64_t{CUBLAS_OP_N});
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_FAST_ACCUM), 0u);
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER), 0x600u);  // of our b
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER), 0x500u);
  const FakeLibrary::Call& call = fake.heuristics.back();
  EXPECT_EQ(layout(call.first), (Words{CUDA_R_8F_E4M3, 128, 96, 128}));
  EXPECT_EQ(layout(call.second), (Words{CUDA_R_8F_E5M2, 128, 64, 128}));
  EXPECT_EQ(layout(call.c), (Words{CUDA_R_32F, 96, 64, 96}));
  EXPECT_EQ(layout(call.d), layout(call.c));
  args.fast_accumulate = true;
  plans().of(args);
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_FAST_ACCUM), 1u);
}

/// The library is told when it proposes and at each launch.
TEST_F(GemmPlansTest, MultiprocessorsThatAreLeftForIt) {
  Gemm args = linear_gemm();
  GemmPlans cache = plans();
  cache.of(args);
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET), 0u) << "the library's default: all";
  args.multiprocessors = 108;
  const GemmPlan& plan = cache.of(args);
  EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET), 108u);
  EXPECT_EQ(run(fake_cublas_lt(), nullptr, plan, args, nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(FakeLibrary::at(fake.launches.back().operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET), 108u);
}

TEST_F(GemmPlansTest, StorageTypesInEveryLayout) {
  for (const DType t : {DType::f32, DType::bf16}) {
    const std::uint64_t type = t == DType::f32 ? CUDA_R_32F : CUDA_R_16BF;
    for (const int transposed : {0, 1, 2, 3}) {
      Gemm args = linear_gemm(t, t, t);
      args.a.transposed = (transposed & 1) != 0;
      args.b.transposed = (transposed & 2) != 0;
      plans().of(args);
      EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), std::uint64_t{CUBLAS_COMPUTE_32F});  // not TF32
      EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_TRANSA), std::uint64_t(args.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
      EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_TRANSB), std::uint64_t(args.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
      EXPECT_EQ(described(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER), 0u);
      const FakeLibrary::Call& call = fake.heuristics.back();
      EXPECT_EQ(layout(call.first), (args.b.transposed ? Words{type, 128, 96, 128} : Words{type, 96, 128, 96}));
      EXPECT_EQ(layout(call.second), (args.a.transposed ? Words{type, 64, 128, 64} : Words{type, 128, 64, 128}));
      EXPECT_EQ(layout(call.d), (Words{type, 96, 64, 96}));
    }
  }
}

TEST_F(GemmPlansTest, PreferencesNameWorkspaceAndAlignments) {
  Gemm args = linear_gemm();
  args.a.data = address(0x10002);
  args.b.data = address(0x20020);
  args.c = address(0x30008);
  plans().of(args);
  EXPECT_EQ(preferred(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES), 32u << 20);
  EXPECT_EQ(preferred(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES), 32u);  // of our b
  EXPECT_EQ(preferred(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES), 2u);
  EXPECT_EQ(preferred(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES), 8u);
  EXPECT_EQ(preferred(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES), 8u);
  EXPECT_EQ(fake.heuristics.back().count, 1);
}

TEST_F(GemmPlansTest, SumsInPartsOnlyWhereTheyMay) {
  const auto schemes = [&](DType c, bool deterministic) {
    plans({.deterministic = deterministic}).of(linear_gemm(DType::bf16, DType::bf16, c));
    return preferred(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  };
  EXPECT_EQ(schemes(DType::f32, false), std::uint64_t{CUBLASLT_REDUCTION_SCHEME_MASK});
  EXPECT_EQ(schemes(DType::f32, true), std::uint64_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  EXPECT_EQ(schemes(DType::bf16, false), std::uint64_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  EXPECT_EQ(schemes(DType::bf16, true), std::uint64_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
}

TEST_F(GemmPlansTest, NoAlgorithmIsAnErrorThatNamesTheProblem) {
  fake.heuristic_status = CUBLAS_STATUS_NOT_SUPPORTED;
  EXPECT_EQ(test::error_of([&] { plans().of(linear_gemm()); }, ExitCode::internal),
            "[kernels] cuBLASLt has no algorithm for gemm m64 n96 k128 bf16 x bf16' > bf16 beta0 align 256 256 256 on "
            "NVIDIA H100 80GB HBM3: SOME_ERROR");
}

TEST_F(GemmPlansTest, ALaunchHandsOverEverything) {
  Gemm args = linear_gemm(DType::e5m2, DType::e4m3, DType::f32);
  GemmPlans cache = plans();
  cache.of(args);
  args.a.inverse_scale = static_cast<const float*>(address(0x1500));  // others than when the plan was made
  args.b.inverse_scale = static_cast<const float*>(address(0x1600));
  const GemmPlan& plan = cache.of(args);
  for (const float beta : {0.0f, 1.0f}) {
    args.beta = beta;
    EXPECT_EQ(run(fake_cublas_lt(), nullptr, plan, args, nullptr), CUBLAS_STATUS_SUCCESS);
    const FakeLibrary::Call& call = fake.launches.back();
    EXPECT_EQ(call.a, args.b.data);
    EXPECT_EQ(call.b, args.a.data);
    EXPECT_EQ(call.c_data, args.c);
    EXPECT_EQ(call.d_data, args.c);
    EXPECT_EQ(call.alpha, 1.0f);
    EXPECT_EQ(call.beta, beta);
    EXPECT_EQ(call.workspace, args.workspace);
    EXPECT_EQ(call.workspace_bytes, 32u << 20);
    EXPECT_EQ(call.algorithm.data[0], 1u);
    EXPECT_EQ(FakeLibrary::at(call.operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER), 0x1600u);
    EXPECT_EQ(FakeLibrary::at(call.operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER), 0x1500u);
    EXPECT_EQ(layout(call.first), (Words{CUDA_R_8F_E4M3, 128, 96, 128}));
    EXPECT_EQ(layout(call.second), (Words{CUDA_R_8F_E5M2, 128, 64, 128}));
    EXPECT_EQ(layout(call.d), (Words{CUDA_R_32F, 96, 64, 96}));
  }
}

/// The stand-in refuses what check_gemm does, by the library's own rules: one of the two missing would show.
TEST_F(GemmPlansTest, TheStandInRefusesWhatTheLibraryDoes) {
  const auto status = [&](void (*change)(Gemm&)) {
    Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
    GemmPlans cache = plans();
    const GemmPlan plan = cache.of(args);
    change(args);
    return run(fake_cublas_lt(), nullptr, plan, args, nullptr);
  };
  EXPECT_EQ(status([](Gemm&) {}), CUBLAS_STATUS_SUCCESS) << fake.broken_rule;
  EXPECT_EQ(status([](Gemm& g) { g.a.inverse_scale += 1; }), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(fake.broken_rule, "a scale off 16 bytes");
  EXPECT_EQ(status([](Gemm& g) { g.b.inverse_scale += 2; }), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(status([](Gemm& g) { g.b.inverse_scale += 4; }), CUBLAS_STATUS_SUCCESS) << fake.broken_rule;
  EXPECT_EQ(status([](Gemm& g) { g.a.scales = g.b.scales = ScaleForm::each, g.a.inverse_scale = nullptr; }),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(fake.broken_rule, "outer-vector scales want both vectors");
  EXPECT_EQ(status([](Gemm& g) { g.a.data = address(0x10004); }), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(fake.broken_rule, "an fp8 product's matrix off 16 bytes");
  EXPECT_EQ(status([](Gemm& g) { g.workspace = address(0x40010); }), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(fake.broken_rule, "a workspace off 256 bytes");
}

/// And at the heuristic, what descriptors alone show.
TEST_F(GemmPlansTest, TheStandInHasNoAlgorithmForWhatTheLibraryHasNone) {
  for (void (*change)(Gemm&) :
       {+[](Gemm& g) { g.b.transposed = false; }, +[](Gemm& g) { g.k = 120; }, +[](Gemm& g) { g.m = 40; },
        +[](Gemm& g) { g.a.dtype = g.b.dtype = DType::e5m2; }, +[](Gemm& g) { g.b.dtype = DType::bf16; }}) {
    Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
    change(args);
    EXPECT_THROW(plans().of(args), Error);
  }
}

TEST_F(GemmPlansTest, TheStandInHasNoFloat8AlgorithmForMatricesOffSixteenBytes) {
  const CublasLt library = fake_cublas_lt();
  Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
  GemmPlans cache = plans();
  GemmPlan plan = cache.of(args);
  const auto status = [&](std::uint32_t alignment) {
    cublasLtMatmulPreferenceOpaque_t wanted{};
    EXPECT_EQ(library.set_preference(&wanted, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &alignment, sizeof alignment),
              CUBLAS_STATUS_SUCCESS);
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    return library.heuristic(nullptr, &plan.operation, &plan.first, &plan.second, &plan.result, &plan.result, &wanted,
                             1, &result, &found);
  };
  EXPECT_EQ(status(16), CUBLAS_STATUS_SUCCESS) << fake.broken_rule;
  EXPECT_EQ(status(8), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(fake.broken_rule, "an fp8 product whose matrices may lie off 16 bytes");
}

TEST_F(GemmPlansTest, TheStandInWantsTheWorkspaceOfItsAlgorithm) {
  const Gemm args = linear_gemm();
  fake.proposals = {{.id = 1, .workspace = 1 << 20}};
  GemmPlans cache = plans();
  GemmPlan plan = cache.of(args);
  EXPECT_EQ(run(fake_cublas_lt(), nullptr, plan, args, nullptr), CUBLAS_STATUS_SUCCESS) << fake.broken_rule;
  plan.algorithm = algorithm(1, 0, octet::cuda::gemm_workspace_bytes + 1);
  EXPECT_EQ(run(fake_cublas_lt(), nullptr, plan, args, nullptr), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(fake.broken_rule, "less workspace than its algorithm wants");
}

/// As the real one, which TheLibraryTakesOurDescriptors asks.
TEST_F(GemmPlansTest, TheStandInTakesAnAttributeInItsOwnSizeAlone) {
  const CublasLt library = fake_cublas_lt();
  cublasLtMatmulDescOpaque_t operation{};
  cublasLtMatmulPreferenceOpaque_t preference{};
  const std::uint64_t value = 0;
  EXPECT_EQ(library.set_operation(&operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &value, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(library.set_operation(&operation, CUBLASLT_MATMUL_DESC_TRANSA, &value, 8), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(library.set_preference(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &value, 4),
            CUBLAS_STATUS_INVALID_VALUE);
}

/// The real library's descriptors, which need no device: it takes every attribute in the size that we give it.
TEST_F(GemmPlansTest, TheLibraryTakesOurDescriptors) {
  CublasLt library{};
  try {
    library = load_cublas_lt();
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  // Not the stand-in's: it reads the words of its own descriptors.
  library.heuristic = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                         cublasLtMatmulHeuristicResult_t* results, int* found) {
    *results = {};
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
  };
  GemmPlans cache(library, nullptr, platform("none"), {}, {});
  Gemm args = linear_gemm(DType::e5m2, DType::e4m3);
  args.fast_accumulate = true;
  GemmPlan plan = cache.of(args);
  const auto get = DynamicLibrary("libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR), "nvidia-cublas")
                       .function<decltype(::cublasLtMatmulDescGetAttribute)>("cublasLtMatmulDescGetAttribute");
  const auto attribute = [&]<typename T>(cublasLtMatmulDescAttributes_t a, T value) {
    std::size_t written = 0;
    EXPECT_EQ(get(&plan.operation, a, &value, sizeof value, &written), CUBLAS_STATUS_SUCCESS);
    return value;
  };
  EXPECT_EQ(attribute(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{-1}), CUBLAS_OP_T);
  EXPECT_EQ(attribute(CUBLASLT_MATMUL_DESC_TRANSB, std::int32_t{-1}), CUBLAS_OP_N);
  EXPECT_EQ(attribute(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{-1}), 1);
  EXPECT_EQ(attribute(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const float*>(nullptr)), args.b.inverse_scale);
  EXPECT_EQ(attribute(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const float*>(nullptr)), args.a.inverse_scale);
  EXPECT_EQ(attribute(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, std::int32_t{-1}), CUBLAS_COMPUTE_32F);
}

}  // namespace
}  // namespace octet::cuda_test

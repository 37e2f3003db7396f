// Ways of a GEMM for the benchmark (tests/benchmark/gpu/gemm_ways.cpp): each changes the one thing that it says of what
// a run asks of cuBLASLt.
#include "tests/benchmark/gpu/changed_library.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/gemm_plans_test.h"
#include "tests/support/error_of.h"

namespace octet::cuda_test {
namespace {

using namespace octet::cuda;
using bench::LibraryChange;

struct ChangedLibraryTest : GemmPlansTest {
  const CublasLt library = bench::changed(fake_cublas_lt());

  /// What the library is asked and given for a GEMM.
  struct Asked {
    FakeLibrary::Call heuristic, launch;
  };
  Asked ask(const LibraryChange& change, const Gemm& args) {
    bench::put_in_force(change);
    GemmPlans plans(library, nullptr, platform(), {}, {});
    EXPECT_EQ(run(library, nullptr, plans.of(args), args, nullptr), CUBLAS_STATUS_SUCCESS) << fake.broken_rule;
    return {fake.heuristics.back(), fake.launches.back()};
  }

  /// What of the two differs, in words.
  static std::vector<std::string> differences(const Asked& a, const Asked& b) {
    std::vector<std::string> found;
    const auto compare = [&](const char* what, const auto& x, const auto& y) {
      if (x != y) found.emplace_back(what);
    };
    const auto preference = [](const Asked& of, cublasLtMatmulPreferenceAttributes_t attribute) {
      return FakeLibrary::at(of.heuristic.preference, attribute);
    };
    const auto preferred = [&](const char* what, cublasLtMatmulPreferenceAttributes_t attribute) {
      compare(what, preference(a, attribute), preference(b, attribute));
    };
    preferred("workspace", CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
    preferred("reduction", CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
    preferred("alignment a", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
    preferred("alignment b", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
    preferred("alignment c", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
    preferred("alignment d", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
    for (std::size_t i = 0; i < std::size(a.launch.operation.data); ++i) {
      compare("operation", a.launch.operation.data[i], b.launch.operation.data[i]);
    }
    compare("a", a.launch.a, b.launch.a);
    compare("b", a.launch.b, b.launch.b);
    compare("C", a.launch.c_data, b.launch.c_data);
    compare("D", a.launch.d_data, b.launch.d_data);
    compare("beta", a.launch.beta, b.launch.beta);
    compare("workspace given", std::pair(a.launch.workspace, a.launch.workspace_bytes),
            std::pair(b.launch.workspace, b.launch.workspace_bytes));
    return found;
  }
};

using Differences = std::vector<std::string>;

TEST_F(ChangedLibraryTest, ChangesNothingUnlessTold) {
  const Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
  const Asked changed = ask({}, args);
  GemmPlans plain = plans();
  EXPECT_EQ(run(fake_cublas_lt(), nullptr, plain.of(args), args, nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(differences(changed, {fake.heuristics.back(), fake.launches.back()}), Differences());
}

TEST_F(ChangedLibraryTest, ChangesOneThing) {
  const Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
  const Asked plain = ask({}, args);
  const auto of = [&](const LibraryChange& change) { return differences(plain, ask(change, args)); };
  EXPECT_EQ(of({.least_alignment = 16}), (Differences{"alignment a", "alignment b", "alignment c", "alignment d"}));
  EXPECT_EQ(preferred(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES), 16u);
  EXPECT_EQ(of({.workspace = address(0x700000), .workspace_bytes = 256 << 20}),
            (Differences{"workspace", "workspace given"}));
  EXPECT_EQ(fake.launches.back().workspace_bytes, 256u << 20);
  EXPECT_EQ(of({.other_c = true, .c = address(0x90000)}), Differences{"C"});
  EXPECT_EQ(fake.launches.back().c_data, address(0x90000));
  EXPECT_EQ(of({.workspace_alone = true}),
            (Differences{"reduction", "alignment a", "alignment b", "alignment c", "alignment d"}));
  EXPECT_EQ(preferred(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES), 0u);  // left to the library's default
  EXPECT_EQ(of({.workspace_alone = true, .other_c = true}).back(), "C");
  EXPECT_EQ(fake.launches.back().c_data, nullptr);
}

/// What is proposed for the change is what runs: GemmPlans takes it although it would not for a run.
TEST_F(ChangedLibraryTest, RunsWhatIsProposedForIt) {
  const Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
  fake.proposals = {{.id = 7, .workspace = 200 << 20}, {.id = 8}};
  const auto id = [&](const LibraryChange& change) { return ask(change, args).launch.algorithm.data[0]; };
  EXPECT_NE(test::error_of([&] { ask({}, args); }, ExitCode::internal), "");  // of one that is asked for, none fits
  EXPECT_EQ(id({.workspace = address(0x700000), .workspace_bytes = 256 << 20}), 7u);

  // Of the timed ones too, sums in parts in the output's own type included.
  const LibraryChange as_pytorch{.workspace_alone = true, .other_c = true};
  bench::put_in_force(as_pytorch);
  fake.proposals = {{.id = 1}, {.id = 2, .scheme = CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE}};
  times = {10.0, 5.0};
  AlgorithmChoices choices{.platform = platform()};
  choices.by_problem[describe(args).text()] =
      GemmPlans(library, nullptr, platform(), {}, {}).time(args, timer()).value();
  const GemmPlan plan = GemmPlans(library, nullptr, platform(), {}, choices).of(args);
  EXPECT_EQ(plan.algorithm.data[0], 2u);
  GemmPlans refusing = GemmPlans(fake_cublas_lt(), nullptr, platform(), {}, choices);
  EXPECT_EQ(refusing.of(args).algorithm.data[0], 1u) << "a run does not";
}

/// Where it adds, C has to be there: the stand-in refuses what would read nothing.
TEST_F(ChangedLibraryTest, ASumReadsItsOtherC) {
  Gemm args = linear_gemm(DType::bf16, DType::bf16, DType::f32);
  args.beta = 1.0f;
  EXPECT_EQ(ask({.other_c = true, .c = address(0x90000)}, args).launch.c_data, address(0x90000));
  bench::put_in_force({.other_c = true});
  GemmPlans cache(library, nullptr, platform(), {}, {});
  EXPECT_NE(run(library, nullptr, cache.of(args), args, nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fake.broken_rule, "a sum with a C that is not there");
}

}  // namespace
}  // namespace octet::cuda_test

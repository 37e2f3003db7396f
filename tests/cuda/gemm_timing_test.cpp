// Algorithms that are timed, and choices that are replayed, against the stand-in for cuBLASLt.
#include <cmath>
#include <cstring>
#include <functional>

#include "tests/cuda/gemm_plans_test.h"
#include "tests/support/error_of.h"

namespace octet::cuda_test {
namespace {

using namespace octet::cuda;

using GemmTimingTest = GemmPlansTest;

/// A timed choice is found again by its text, and those of other modes are not.
TEST_F(GemmTimingTest, ChoicesTellModesOfScalesApart) {
  const Gemm args = blockwise_gemm(ScaleForm::vectors, ScaleForm::blocks);
  EXPECT_EQ(describe(args).text(),
            "m256 n384 k128 e4m3 x e4m3' > bf16 beta0 scales vectors x blocks align 256 256 256");
  GemmPlans cache = replaying(chosen(args));
  const std::size_t asked = fake.heuristics.size();
  cache.of(args);
  EXPECT_EQ(fake.heuristics.size(), asked);
  cache.of(blockwise_gemm(ScaleForm::vectors, ScaleForm::vectors));
  EXPECT_EQ(fake.heuristics.size(), asked + 1);
}

TEST_F(GemmTimingTest, ProposalsThatCannotRunArePassedOver) {
  fake.proposals = {{.id = 1, .state = CUBLAS_STATUS_NOT_SUPPORTED}, {.id = 2, .workspace = 33 << 20}, {.id = 3}};
  times = {2.0};
  EXPECT_EQ(plans().time(linear_gemm(), timer())->algorithm, algorithm_text(algorithm(3)));
  EXPECT_EQ(timed, (std::vector<std::size_t>{1}));
}

TEST_F(GemmTimingTest, TheFastestIsTaken) {
  fake.proposals = {{.id = 1}, {.id = 2}, {.id = 3}};
  times = {10.0, 9.95, 7.0};
  const auto choice = plans().time(linear_gemm(), timer());
  EXPECT_EQ(choice->algorithm, algorithm_text(algorithm(3)));  // all 64 bytes
  EXPECT_EQ(choice->microseconds, 7.0);
  EXPECT_EQ(timed, (std::vector<std::size_t>{3}));
  EXPECT_EQ(fake.heuristics.back().count, 8);
}

TEST_F(GemmTimingTest, NoiseDoesNotDisplaceTheFirst) {
  fake.proposals = {{.id = 1}, {.id = 2}, {.id = 3}};
  times = {10.0, 9.95, HUGE_VAL};
  EXPECT_EQ(plans().time(linear_gemm(), timer())->algorithm, algorithm_text(algorithm(1)));
  times = {HUGE_VAL, 9.95, HUGE_VAL};
  EXPECT_EQ(plans().time(linear_gemm(), timer())->algorithm, algorithm_text(algorithm(2)));
  times = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
  EXPECT_NE(test::error_of([&] { plans().time(linear_gemm(), timer()); }, ExitCode::internal), "");
}

/// Where the library has no outer-vector scales, nothing is timed: the parts without scales are, in its place.
TEST_F(GemmTimingTest, NothingIsTimedWhereThereIsNoProposal) {
  Gemm args = linear_gemm(DType::e4m3, DType::e4m3);
  args.a.scales = args.b.scales = ScaleForm::each;
  fake.proposals.clear();
  EXPECT_EQ(plans().time(args, timer()), std::nullopt);
  EXPECT_TRUE(timed.empty());
}

std::string logged(const std::function<void()>& work) {
  testing::internal::CaptureStderr();
  work();
  return testing::internal::GetCapturedStderr();
}

TEST_F(GemmTimingTest, ChoicesAreReplayedWithoutAskingOrTiming) {
  const Gemm args = linear_gemm(DType::bf16, DType::bf16, DType::f32);
  const AlgorithmChoices choices = chosen(args);
  timed.clear();
  fake.heuristics.clear();
  GemmPlans cache = replaying(choices);
  EXPECT_EQ(logged([&] {
              const cublasLtMatmulAlgo_t expected = algorithm(2);
              EXPECT_EQ(std::memcmp(&cache.of(args).algorithm, &expected, sizeof expected), 0);
            }),
            "");
  EXPECT_TRUE(fake.heuristics.empty() && timed.empty());
  EXPECT_EQ(fake.checks, 1);
}

/// With choices in force, one that is missing is worth a line of the log, once; without any it is how it always is.
TEST_F(GemmTimingTest, AProductWithoutAChoiceTakesTheFirstProposal) {
  const Gemm other = linear_gemm();
  GemmPlans cache = replaying(chosen(linear_gemm(DType::bf16, DType::bf16, DType::f32)));
  timed.clear();
  const std::string said = logged([&] { EXPECT_EQ(cache.of(other).algorithm.data[0], 1u); });
  EXPECT_NE(said.find("gemm " + describe(other).text() + ": no algorithm was chosen for it"), std::string::npos)
      << said;
  EXPECT_EQ(logged([&] { cache.of(other); }), "");
  EXPECT_EQ(logged([&] { plans().of(other); }), "");
  EXPECT_TRUE(timed.empty());
}

TEST_F(GemmTimingTest, ChoicesOfAnotherPlatformAreRefused) {
  const Gemm args = linear_gemm();
  const AlgorithmChoices choices = chosen(args);
  EXPECT_EQ(
      test::error_of([&] { GemmPlans(fake_cublas_lt(), nullptr, platform("NVIDIA H200"), {}, choices).of(args); },
                     ExitCode::internal),
      "[kernels] the choices in force are of cuBLASLt 130100 on NVIDIA H100 80GB HBM3, this is cuBLASLt 130100 on "
      "NVIDIA H200");
  fake.version = 130200;
  EXPECT_NE(test::error_of([&] { replaying(choices); }, ExitCode::internal), "");
}

TEST_F(GemmTimingTest, AChoiceThatDoesNotRunIsAWarning) {
  const Gemm args = linear_gemm(DType::bf16, DType::bf16, DType::f32);
  const AlgorithmChoices choices = chosen(args);
  const auto warning = [&] { return logged([&] { EXPECT_EQ(replaying(choices).of(args).algorithm.data[0], 1u); }); };
  fake.check_workspace = 33 << 20;
  EXPECT_NE(warning().find("chosen before wants more workspace than there is, the heuristic's first proposal is used; "
                           "losses go on within rounding, not to the bit"),
            std::string::npos);
  fake.check_workspace = 0;
  fake.check_status = CUBLAS_STATUS_NOT_SUPPORTED;
  EXPECT_NE(warning().find("does not run here (SOME_ERROR)"), std::string::npos);
}

TEST_F(GemmTimingTest, SumsInAnOrderOfChanceAreReplayedOnlyWhereTheyMay) {
  const std::uint32_t in_place = CUBLASLT_REDUCTION_SCHEME_INPLACE;
  const Gemm args = linear_gemm(DType::bf16, DType::bf16, DType::f32);
  const AlgorithmChoices choices = chosen(args, in_place);
  EXPECT_EQ(replaying(choices).of(args).algorithm.data[0], 2u);
  EXPECT_EQ(test::error_of([&] { replaying(choices, {.deterministic = true, .gemm_plans = "FILE"}).of(args); }),
            "[kernels] cuda.gemm_plans: FILE: the algorithm of gemm " + describe(args).text() +
                " sums over k in parts in a way that is not allowed here (reduction scheme 1): it may be of a run that "
                "was not deterministic");
  const Gemm rounded = linear_gemm();  // sums would be kept in bf16
  EXPECT_EQ(replaying(chosen(rounded, in_place)).of(rounded).algorithm.data[0], 1u);
}

}  // namespace
}  // namespace octet::cuda_test

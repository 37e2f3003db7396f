// Steps whose passes are CUDA graphs beside steps without, on the GPU: the same bits.
#include "kernels/cuda_settings.h"
#include "tests/gpu/gpu_test.h"
#include "tests/gpu/small_run.h"

namespace octet::gpu_test {
namespace {

struct Kind {
  Precision precision;
  const char* recipe;
};

class GraphsOnGpu : public GpuTest, public ::testing::WithParamInterface<Kind> {
 protected:
  struct Outcome {
    std::vector<double> numbers;  ///< loss and norm of each step, and a validation
    std::int64_t replayed = 0, made = 0;
  };

  /// Three steps of three micro-batches, a validation and two more steps.
  static Outcome run(const Kind& kind, AutoBool graphs) {
    RunConfig config = SmallRun::config(kind.precision, kind.recipe);
    config.graphs = graphs;
    config.train.global_batch = 6;
    SmallRun run(config);
    Outcome out{.numbers = run.train(5, 3)};
    out.replayed = run.trainer().graphs().replayed();
    out.made = run.trainer().graphs().made();
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, GraphsOnGpu,
                         ::testing::Values(Kind{Precision::fp32, "tensorwise"}, Kind{Precision::bf16, "tensorwise"},
                                           Kind{Precision::float8, "tensorwise"}, Kind{Precision::float8, "rowwise"},
                                           Kind{Precision::float8, "delayed"}),
                         [](const auto& tested) {
                           return fmt::format("{}_{}", tested.param.precision, tested.param.recipe);
                         });

TEST_P(GraphsOnGpu, TrainToTheSameBits) {
  set_cuda_settings({.deterministic = true});
  const Outcome without = run(GetParam(), AutoBool::no), with = run(GetParam(), AutoBool::yes);
  set_cuda_settings({});
  EXPECT_EQ(with.numbers, without.numbers);
  EXPECT_EQ(without.replayed, 0);
  EXPECT_GE(with.made, 2);
  EXPECT_GE(with.replayed, 9) << "of 15 passes";
}

}  // namespace
}  // namespace octet::gpu_test

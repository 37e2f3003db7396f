// Steps whose update is beside the next forward pass beside steps without, on the GPU: the same bits, where GEMMs have
// the same algorithms.
#include "kernels/cuda_settings.h"
#include "tests/gpu/gpu_test.h"
#include "tests/gpu/small_run.h"

namespace octet::gpu_test {
namespace {

struct Kind {
  Precision precision;
  const char* recipe;
  GradientForm gradients = GradientForm::fp32;  ///< in bf16 nothing is added to them: one micro-batch a step
};

class UpdateBesideOnGpu : public GpuTest, public ::testing::WithParamInterface<Kind> {
 protected:
  struct Outcome {
    std::vector<double> numbers;  ///< loss and norm of each step, and a validation
    std::vector<float> state;     ///< masters and moments
    bool beside = false;
  };

  /// Three steps of two micro-batches (of one with gradients in bf16), a validation and three more steps. The model is
  /// large enough that the update of a unit is under way when the host is done with the step; an emulated device does
  /// nothing before the host waits for it.
  static Outcome run(const Kind& kind, AutoBool beside, std::int64_t multiprocessors,
                     BesideGemms gemms = BesideGemms::all) {
    RunConfig config = SmallRun::config(kind.precision, kind.recipe);
    config.parallel.gradient_wire = kind.gradients;
    config.graphs = AutoBool::no;
    config.optimizer.beside_forward = beside;
    config.optimizer.beside_multiprocessors = multiprocessors;
    config.optimizer.beside_gemms = gemms;
    if (!is_emulated()) {
      config.model = {.name = "small",
                      .dim = 1024,
                      .layers = 4,
                      .heads = 8,
                      .kv_heads = 4,
                      .head_dim = 128,
                      .ffn_dim = 4096,
                      .vocab_size = 2048};
    }
    config.train.global_batch = kind.gradients == GradientForm::bf16 ? 2 : 4;
    SmallRun run(config);
    ShardedModel& model = run.trainer().model();
    Outcome out;
    out.numbers = run.train(6, 3, [&] { out.beside = out.beside || model.update_under_way(); });
    const std::vector<ParameterSpec>& parameters = model.parameters().parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const bool narrow = kind.gradients == GradientForm::bf16 && parameters[i].one_gemm_gradient;
      EXPECT_EQ(model.gradients().dtype(i), narrow ? DType::bf16 : DType::f32) << parameters[i].name;
    }
    for (const ShardedBuffer* buffer : {&model.master(), &model.first_moment(), &model.second_moment()}) {
      const auto n = static_cast<std::size_t>(buffer->layout().elements());
      out.state.resize(out.state.size() + n);
      cuda_device(0).copy_to_host(&*(out.state.end() - static_cast<std::ptrdiff_t>(n)), buffer->all(),
                                  buffer->layout().bytes(), run.stream());
      run.stream().synchronize();
    }
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, UpdateBesideOnGpu,
                         ::testing::Values(Kind{Precision::fp32, "tensorwise"}, Kind{Precision::bf16, "tensorwise"},
                                           Kind{Precision::float8, "tensorwise"}, Kind{Precision::float8, "rowwise"},
                                           Kind{Precision::float8, "delayed"},
                                           Kind{Precision::bf16, "tensorwise", GradientForm::bf16},
                                           Kind{Precision::float8, "tensorwise", GradientForm::bf16}),
                         [](const auto& tested) {
                           return fmt::format("{}_{}_{}_gradients", tested.param.precision, tested.param.recipe,
                                              tested.param.gradients);
                         });

TEST_P(UpdateBesideOnGpu, TrainsToTheSameBits) {
  set_cuda_settings({.deterministic = true});
  const Outcome without = run(GetParam(), AutoBool::no, 0), with = run(GetParam(), AutoBool::automatic, 0),
                slow = run(GetParam(), AutoBool::yes, 1);
  set_cuda_settings({});
  EXPECT_FALSE(without.beside);
  for (const Outcome* beside : {&with, &slow}) {
    EXPECT_TRUE(beside->beside);
    EXPECT_EQ(beside->numbers, without.numbers);
    EXPECT_TRUE(beside->state == without.state);
  }
}

/// GEMMs that are chosen for the multiprocessors that are left may sum otherwise, but the same way every time.
TEST_P(UpdateBesideOnGpu, TrainsToItsOwnBitsWithGemmsThatLeaveRoom) {
  set_cuda_settings({.deterministic = true});
  const Outcome without = run(GetParam(), AutoBool::no, 0);
  const Outcome first = run(GetParam(), AutoBool::yes, 0, BesideGemms::free),
                second = run(GetParam(), AutoBool::yes, 0, BesideGemms::free);
  set_cuda_settings({});
  EXPECT_TRUE(first.beside);
  EXPECT_EQ(first.numbers, second.numbers);
  EXPECT_TRUE(first.state == second.state);
  for (std::size_t i = 0; i < without.numbers.size(); ++i) {
    EXPECT_NEAR(first.numbers[i], without.numbers[i], 0.02 * without.numbers[i]) << i;
  }
}

}  // namespace
}  // namespace octet::gpu_test

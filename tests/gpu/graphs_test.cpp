// Steps whose passes are CUDA graphs beside steps without, on the GPU: the same bits.
#include "kernels/cuda_settings.h"
#include "src/train/step/trainer.h"
#include "tests/gpu/gpu_test.h"

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

  /// Three steps of three micro-batches, a validation and two more steps, each read when the next was launched.
  static Outcome run(const Kind& kind, AutoBool graphs) {
    RunConfig config;
    config.device = DeviceType::cuda;
    config.precision = kind.precision;
    config.float8.recipe = kind.recipe;
    config.graphs = graphs;
    config.model = {.name = "small",
                    .dim = 256,
                    .layers = 3,
                    .heads = 4,
                    .kv_heads = 2,
                    .head_dim = 64,
                    .ffn_dim = 768,
                    .vocab_size = 512};
    config.train.seq_len = 256;
    config.train.global_batch = 6;
    config.train.micro_batch = 2;
    config.data.validation_fraction = 0.1;
    const auto stream = cuda_device(0).make_stream();
    const DryBatches batches(config.train.global_batch, config.train.seq_len);
    Mesh mesh(make_self_communicator(*stream, "world"), {});
    const auto control_stream = cpu_device().make_stream();
    const auto control = make_self_communicator(*control_stream, "control");
    Trainer trainer(config, batches, mesh, *control, *stream, nullptr);
    Outcome out;
    const auto collect = [&] {
      const StepResult result = trainer.collect();
      out.numbers.insert(out.numbers.end(), {result.loss, result.grad_norm});
    };
    for (std::int64_t step = 1; step <= 5; ++step) {
      trainer.launch(step);
      while (trainer.under_way() > (step == 3 || step == 5 ? 0 : 1)) collect();
      if (step == 3) out.numbers.push_back(trainer.validate());
    }
    out.replayed = trainer.graphs().replayed();
    out.made = trainer.graphs().made();
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

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "src/train/step/trainer.h"
#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {

/// A run of a small model on the GPU, alone in its mesh, on the batches of a dry run.
class SmallRun {
 public:
  /// Three blocks of 256, or 128 on an emulated device; one micro-batch of two rows a step. The caller changes what it
  /// is about.
  static RunConfig config(Precision precision, const char* recipe = "tensorwise") {
    RunConfig config;
    config.device = DeviceType::cuda;
    config.precision = precision;
    config.float8.recipe = recipe;
    config.model = {.name = "small",
                    .dim = 256,
                    .layers = 3,
                    .heads = 4,
                    .kv_heads = 2,
                    .head_dim = 64,
                    .ffn_dim = 768,
                    .vocab_size = 512};
    config.train.seq_len = 256;
    config.train.micro_batch = 2;
    config.train.global_batch = 2;
    config.data.validation_fraction = 0.1;
    if (is_emulated()) {
      config.model.dim = 128;
      config.model.heads = 2;
      config.model.kv_heads = 1;
      config.model.ffn_dim = 256;
      config.model.vocab_size = 256;
      config.train.seq_len = 64;
    }
    return config;
  }

  explicit SmallRun(const RunConfig& config)
      : batches_(config.train.global_batch, config.train.seq_len),
        trainer_(config, batches_, mesh_, *control_, *stream_, nullptr) {}

  /// Trains `steps` steps, each read when the next was launched, with a validation behind step `validated`. Returns
  /// loss and norm of each step and the validation's loss, in their order. `launched`: called behind each launch.
  std::vector<double> train(std::int64_t steps, std::int64_t validated, const std::function<void()>& launched = {}) {
    std::vector<double> numbers;
    for (std::int64_t step = 1; step <= steps; ++step) {
      trainer_.launch(step);
      if (launched) launched();
      while (trainer_.under_way() > (step == validated || step == steps ? 0 : 1)) {
        const StepResult result = trainer_.collect();
        numbers.insert(numbers.end(), {result.loss, result.grad_norm});
      }
      if (step == validated) numbers.push_back(trainer_.validate());
    }
    return numbers;
  }

  Trainer& trainer() { return trainer_; }
  Stream& stream() { return *stream_; }

 private:
  std::unique_ptr<Stream> stream_ = cuda_device(0).make_stream();
  std::unique_ptr<Stream> control_stream_ = cpu_device().make_stream();
  Mesh mesh_{make_self_communicator(*stream_, "world"), {}};
  std::unique_ptr<Communicator> control_ = make_self_communicator(*control_stream_, "control");
  DryBatches batches_;
  Trainer trainer_;
};

}  // namespace octet::gpu_test

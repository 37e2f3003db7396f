// The memory plan of a run on one GPU beside what its ledger holds after a few steps.
#include "src/train/plan/dry_run.h"

#include "src/train/plan/memory_plan.h"
#include "tests/gpu/gpu_test.h"
#include "tests/gpu/small_run.h"

namespace octet::gpu_test {
namespace {

class DryRunOnGpu : public GpuTest {};

struct Planned {
  Precision precision;
  bool documents = false;
  GradientForm gradients = GradientForm::fp32;  ///< in bf16 nothing is added to them: one micro-batch a step
};

TEST_F(DryRunOnGpu, ThePlanIsWhatTheLedgerHolds) {
  Device& device = cuda_device(0);
  for (const Planned& kind : {Planned{.precision = Precision::bf16}, Planned{.precision = Precision::float8},
                              Planned{.precision = Precision::bf16, .documents = true},
                              Planned{.precision = Precision::bf16, .gradients = GradientForm::bf16},
                              Planned{.precision = Precision::float8, .gradients = GradientForm::bf16}}) {
    RunConfig config = SmallRun::config(kind.precision);
    config.data.document_mask = kind.documents;
    config.parallel.gradient_wire = kind.gradients;
    config.train.global_batch = kind.gradients == GradientForm::bf16 ? 2 : 4;
    MemoryLedger& ledger = device.ledger();
    std::array<std::int64_t, static_cast<std::size_t>(Purpose::count)> before{};
    for (std::size_t p = 0; p < before.size(); ++p) before[p] = ledger.usage(static_cast<Purpose>(p)).now;
    ledger.reset_peaks();
    SmallRun run(config);
    run.train(2, 2);
    const MemoryPlan plan = plan_run(config, {}, 0, 1, DeviceType::cuda);
    for (std::size_t p = 0; p < before.size(); ++p) {
      EXPECT_EQ(plan.bytes[p], ledger.usage(static_cast<Purpose>(p)).peak - before[p])
          << fmt::format("{}{}, gradients in {}: {}", kind.precision, kind.documents ? ", documents" : "",
                         kind.gradients, static_cast<Purpose>(p));
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test

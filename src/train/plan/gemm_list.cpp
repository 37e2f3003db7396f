#include "src/train/plan/gemm_list.h"

#include <bit>
#include <set>
#include <tuple>

#include "kernels/gemm_timing.h"
#include "src/train/plan/dry_run.h"

namespace octet {
namespace {

/// The highest power of two on which a pointer lies, up to that of a buffer's begin.
unsigned alignment(const void* pointer) {
  return 1u << std::countr_zero(reinterpret_cast<std::uintptr_t>(pointer) | 256u);
}

auto kind_of(const GemmOperand& x) {
  return std::tuple(x.dtype, x.transposed, x.scales, alignment(x.data));
}
auto kind_of(const Gemm& g) {
  return std::tuple(kind_of(g.a), kind_of(g.b), g.c_dtype, alignment(g.c), g.m, g.n, g.k, g.beta, g.fast_accumulate);
}

class CollectedGemms final : public WorkLog {
 public:
  double add(const Stream&, const Work& work, const Turn&) override {
    if (work.name != "gemm" || work.flops == 0) return 0;
    flops_ += work.flops;
    const Gemm& gemm = *static_cast<const Gemm*>(work.arguments);
    if (met_.insert(kind_of(gemm)).second) distinct_.push_back(gemm);
    return 0;
  }
  double flops() const { return flops_; }
  const std::vector<Gemm>& distinct() const { return distinct_; }

 private:
  double flops_ = 0;
  std::set<decltype(kind_of(Gemm()))> met_;
  std::vector<Gemm> distinct_;
};

}  // namespace

GemmList gemms_of_run(const RunConfig& config, const MeshShape& mesh, int rank, DeviceType workspaces) {
  CollectedGemms collected;
  const RunConfig few = with_two_micro_batches(config, mesh);
  DryRun dry(few, mesh, rank, workspaces, &collected);
  dry.step();
  const double first = collected.flops();
  dry.step();
  const double later = collected.flops() - first;
  if (dry.trainer().has_validation()) dry.validate();
  const double all = static_cast<double>(config.train.global_batch) / static_cast<double>(few.train.global_batch);
  return {.distinct = collected.distinct(), .step_flops = all * later};
}

TimingCost timing_cost(std::span<const Gemm> untimed, int ranks, double step_flops, std::int64_t steps_left) {
  TimingCost cost{.left = step_flops * static_cast<double>(steps_left)};
  for (const Gemm& gemm : untimed) cost.timing += flops_of(gemm);
  cost.timing *= timed_proposals * (uncounted_runs + timed_runs);
  cost.timing /= ranks;
  return cost;
}

}  // namespace octet

#include "src/train/plan/problem_list.h"

#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <tuple>

#include "kernels/gemm_timing.h"
#include "src/metrics/peak.h"
#include "src/train/plan/dry_run.h"

namespace octet {
namespace {

/// Seconds that cuDNN takes to build those plans of a problem that are timed beside its first one. Assumed, above what
/// the rows of docs/gpu-results/h100-2026-11-26*.jsonl leave for it: to choose took a run of 8B 1.8 s in bf16 and 1.3
/// to 2.5 in float8 where it chose for attention and GEMMs, and 0.9 to 1.2 in bf16 and 0.5 in float8 where it found
/// attention's choices and chose for GEMMs alone. So up to 2 s are those of the two problems of attention, 0.3 of
/// trials included.
constexpr double building_seconds = 1;

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

class CollectedProblems final : public WorkLog {
 public:
  double add(const Stream&, const Work& work, const Turn&) override {
    if (work.flops == 0) return 0;
    if (work.name == "gemm") {
      list_.gemm_flops += work.flops;
      const Gemm& gemm = *static_cast<const Gemm*>(work.arguments);
      if (met_.insert(kind_of(gemm)).second) list_.gemms.push_back(gemm);
    } else if (work.name == "attention_forward") {
      add_attention({static_cast<const AttentionForward*>(work.arguments)->shape, AttentionPass::forward}, work.flops);
    } else if (work.name == "attention_backward") {
      add_attention({static_cast<const AttentionBackward*>(work.arguments)->shape, AttentionPass::backward},
                    work.flops);
    }
    return 0;
  }
  const ProblemList& list() const { return list_; }

 private:
  void add_attention(const AttentionProblem& problem, double flops) {
    list_.attention_flops += flops;
    if (texts_.insert(text_of(problem)).second) list_.attention.push_back(problem);
  }

  ProblemList list_;
  std::set<decltype(kind_of(Gemm()))> met_;
  std::set<std::string> texts_;
};

}  // namespace

ProblemList problems_of_run(const RunConfig& config, const MeshShape& mesh, int rank, DeviceType workspaces) {
  CollectedProblems collected;
  const RunConfig few = with_two_micro_batches(config, mesh);
  DryRun dry(few, mesh, rank, workspaces, &collected);
  double gemm_flops = 0, attention_flops = 0;  // of the first step
  dry.second_step([&] {
    gemm_flops = collected.list().gemm_flops;
    attention_flops = collected.list().attention_flops;
  });
  const double all = static_cast<double>(config.train.global_batch) / static_cast<double>(few.train.global_batch);
  const double later = collected.list().gemm_flops - gemm_flops;
  const double later_attention = collected.list().attention_flops - attention_flops;
  if (dry.trainer().has_validation()) dry.validate();
  ProblemList list = collected.list();
  list.gemm_flops = all * later;
  list.attention_flops = all * later_attention;
  return list;
}

TimingCost timing_cost(const std::vector<double>& untimed, double building, int ranks, double step_flops,
                       std::int64_t steps_left) {
  double sum = 0, largest = 0;
  for (const double flops : untimed) {
    const double all = flops * timed_proposals * (uncounted_runs + timed_runs) + building;
    sum += all;
    largest = std::max(largest, all);
  }
  return {.timing = std::max(sum / ranks, largest), .left = step_flops * static_cast<double>(steps_left)};
}

/// At the bf16 peak, which is above what steps reach, in float8 too.
double attention_building_flops(std::string_view device) {
  const auto sheet = gpu_sheet(device);
  return building_seconds * (sheet ? *sheet : *gpu_sheet("H100")).peak.bf16;
}

}  // namespace octet

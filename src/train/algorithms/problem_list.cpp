#include "src/train/algorithms/problem_list.h"

#include <bit>
#include <set>
#include <string>
#include <tuple>

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

}  // namespace octet

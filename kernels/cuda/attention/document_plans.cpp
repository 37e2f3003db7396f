#include "kernels/cuda/attention/document_plans.h"

#include "kernels/cuda/attention/document_offsets.h"
#include "kernels/cuda/host/settings.h"

namespace octet::cuda {

bool documents_by_cudnn() {
  return settings().document_attention == DocumentAttention::cudnn && !settings().deterministic;
}

DocumentPlan document_plan(AttentionPlans& plans, const AttentionProblem& problem, std::int64_t places,
                           std::int64_t longest, Stream* stream) {
  const auto none = [](std::string why) { return DocumentPlan{nullptr, std::move(why)}; };
  if (settings().document_attention == DocumentAttention::own) return none("cuda.document_attention is own");
  if (settings().deterministic) return none("cuda.deterministic is true");
  if (places > most_document_places) {
    return none(fmt::format("a micro-batch has more than {} documents", most_document_places));
  }
  DocumentPlan of_pass;
  for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::backward}) {
    const AttentionPlanKey key{problem.shape, pass, false, places, longest};
    const AttentionPlanResult& found = plans.find(key, stream);
    if (found.plan == nullptr) return none(fmt::format("cuDNN has no plan for {}: {}", pass, found.why_not));
    const std::int64_t bound = document_workspace_bound(key.problem(), places);
    if (found.plan->workspace() > bound) {
      return none(fmt::format("cuDNN's plan for {} and {} documents wants {} bytes of workspace, and {} are planned",
                              text_of(key.problem()), places, found.plan->workspace(), bound));
    }
    if (pass == problem.pass) of_pass.plan = found.plan.get();
  }
  return of_pass;
}

}  // namespace octet::cuda

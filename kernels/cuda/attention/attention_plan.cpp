#include "kernels/cuda/attention/attention_plan.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "kernels/cuda/host/capture.h"
#include "kernels/cuda/host/trial_timer.h"
#include "kernels/gemm_timing.h"
#include "src/base/log.h"

namespace octet::cuda {
namespace {

auto tie(const AttentionPlanKey& key) {
  const AttentionShape& s = key.shape;
  return std::tie(s.batch, s.seq, s.heads, s.kv_heads, s.head_dim, s.scale, s.dtype, key.pass, key.deterministic,
                  key.documents, key.longest);
}

/// cuDNN's operands are not const; it writes to the outputs alone.
void* operand(const void* pointer) {
  return const_cast<void*>(pointer);
}

std::string describe(const AttentionPlanKey& key) {
  const AttentionShape& s = key.shape;
  const std::string documents =
      key.documents == 0 ? "" : fmt::format(", {} documents of {} tokens at most", key.documents, key.longest);
  return fmt::format("{} of batch {}, sequence {}, heads {}/{}, head dimension {}{}{}", key.pass, s.batch, s.seq,
                     s.heads, s.kv_heads, s.head_dim, documents, key.deterministic ? ", deterministic" : "");
}

/// The first of the proposals that can be built, and which one it is; else why none can.
struct Built {
  AttentionPlanResult result;
  std::size_t proposal = 0;
};
Built build_first(const AttentionGraph& graph) {
  Built built;
  const auto& names = graph.proposals();
  for (; built.proposal < names.size(); ++built.proposal) {
    try {
      built.result.plan = graph.build(built.proposal);
      built.result.why_not.clear();
      return built;
    } catch (const Error& error) {
      built.result.why_not +=
          fmt::format("{}{}: {}", built.result.why_not.empty() ? "" : "; ", names[built.proposal], error.what());
    }
  }
  if (names.empty()) built.result.why_not = "it proposes nothing";
  return built;
}

/// The plan of that name; null, with why, where there is none that keeps to what is planned for it.
std::unique_ptr<AttentionPlan> build_chosen(const AttentionPlanKey& key, const AttentionGraph& graph,
                                            const std::string& name, std::string& why) {
  const auto& names = graph.proposals();
  const auto proposal = std::ranges::find(names, name);
  if (proposal == names.end()) {
    why = "is none of cuDNN's proposals here";
    return nullptr;
  }
  try {
    auto plan = graph.build(static_cast<std::size_t>(proposal - names.begin()));
    if (plan->workspace() <= attention_workspace_bound(key)) return plan;
    why = fmt::format("wants {} bytes of workspace, and {} are planned", plan->workspace(),
                      attention_workspace_bound(key));
  } catch (const Error& error) {
    why = fmt::format("cannot be built ({})", error.what());
  }
  return nullptr;
}

}  // namespace

bool operator<(const AttentionPlanKey& a, const AttentionPlanKey& b) {
  return tie(a) < tie(b);
}

std::string why_no_attention_plan(const AttentionPlanKey& key) {
  const AttentionShape& s = key.shape;
  if (s.dtype != DType::bf16) return fmt::format("{} is not among its types", name_of(s.dtype));
  if (key.documents > 0 && s.head_dim % 16 != 0) {
    return "with documents the head dimension is to be a multiple of 16";  // else its workspace is not bounded
  }
  if (key.pass == AttentionPass::backward && s.batch * s.heads * s.seq % 4 != 0) {
    // cudnn-frontend puts its own batch · heads · seq floats before cuDNN's part of the workspace, unpadded.
    return "batch x heads x sequence is not a multiple of 4, so its workspace would not be aligned";
  }
  return "";
}

std::string why_no_attention_plan(const AttentionPlanKey& key, std::size_t cudnn_version) {
  const AttentionShape& s = key.shape;
  if (cudnn_version <= 91500 && key.pass == AttentionPass::backward && key.documents == 0 && s.seq % 128 != 0 &&
      s.batch % 2 != 0) {
    // There too cudnn-frontend then puts 2 · batch lengths of 4 bytes, by which it goes around a fault of these
    // versions.
    return "up to cuDNN 9.15.0, with a sequence of no multiple of 128 and an odd batch, its workspace would not be "
           "aligned";
  }
  return "";
}

AttentionPlans::AttentionPlans()
    : AttentionPlans(AttentionLibrary([](const AttentionPlanKey& key) { return make_attention_graph(key, nullptr); })) {
}

AttentionPlans::AttentionPlans(DeviceDescription device)
    : AttentionPlans(AttentionLibrary([description = std::move(device)](const AttentionPlanKey& key) {
        return make_attention_graph(key, &description);
      })) {}

const AttentionPlanResult& AttentionPlans::find(AttentionPlanKey key, Stream* stream) {
  if (key.pass == AttentionPass::forward) key.deterministic = false;
  const std::scoped_lock lock(mutex_);
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  if (stream != nullptr) refuse_capture(*stream, "building a plan for attention");
  AttentionPlanResult result = make(key);
  if (result.plan == nullptr && said_.insert(result.why_not).second) {
    log::shared_warning(
        "attention {}: cuDNN has no plan ({}); Octet's own kernel takes its place: correct, but not on the tensor "
        "cores, so attention takes many times as long (docs/problems.md, \"Attention runs without cuDNN\")",
        describe(key), result.why_not);
  }
  return plans_.emplace(key, std::move(result)).first->second;
}

AttentionPlanResult AttentionPlans::make(const AttentionPlanKey& key) const {
  if (const std::string why = why_no_attention_plan(key); !why.empty()) return {.plan = nullptr, .why_not = why};
  const AttentionGraphResult made = library_(key);
  if (made.graph == nullptr) return {.plan = nullptr, .why_not = made.why_not};
  const std::string wanted = choice_for(key);
  std::string why;
  if (!wanted.empty()) {
    if (auto plan = build_chosen(key, *made.graph, wanted, why)) return {.plan = std::move(plan), .why_not = ""};
  }
  AttentionPlanResult first = build_first(*made.graph).result;
  if (!wanted.empty() && (first.plan == nullptr || first.plan->engine() != wanted)) {
    log::shared_warning(
        "[kernels] attention {}: the plan that was chosen before, {}, {}; the heuristic's first proposal is used; "
        "losses go on within rounding, not to the bit",
        text_of(key.problem()), wanted, why);
  }
  return first;
}

std::string AttentionPlans::choice_for(const AttentionPlanKey& key) const {
  if (key.deterministic || key.documents > 0 || choices_.by_problem.empty()) return "";
  const std::string problem = text_of(key.problem());
  if (const auto known = choices_.by_problem.find(problem); known != choices_.by_problem.end())
    return known->second.algorithm;
  log::info("[kernels] attention {}: no plan was chosen for it, the heuristic's first proposal is used", problem);
  return "";
}

AlgorithmChoice AttentionPlans::time(const AttentionPlanKey& key, const AttentionTimer& timer) {
  const std::scoped_lock lock(mutex_);
  const std::string problem = text_of(key.problem());
  const AttentionGraphResult made = library_(key);
  if (made.graph == nullptr)
    throw internal_error("kernels", "attention {}: no plan to time: {}", problem, made.why_not);
  const auto& names = made.graph->proposals();
  Built first = build_first(*made.graph);
  if (first.result.plan == nullptr) {
    throw internal_error("kernels", "attention {}: no plan to time: {}", problem, first.result.why_not);
  }
  const std::int64_t bound = attention_workspace_bound(key);
  const bool alone = first.result.plan->workspace() > bound;
  std::vector<std::unique_ptr<AttentionPlan>> plans;
  plans.push_back(std::move(first.result.plan));
  for (std::size_t i = first.proposal + 1; !alone && i < names.size() && plans.size() < timed_proposals; ++i) {
    try {
      auto plan = made.graph->build(i);
      if (plan->workspace() <= bound) plans.push_back(std::move(plan));
    } catch (const Error&) {  // one proposal less
    }
  }
  const std::vector<double> times = timer(plans);
  const std::size_t best = worth_taking(times);
  if (std::isinf(times[best])) {
    throw internal_error("kernels", "none of {} plans ran for attention {}", times.size(), problem);
  }
  log::info("[kernels] attention {}: plan {} of {}, {}, {:.1f} us (the heuristic's first {:.1f} us)", problem, best + 1,
            times.size(), plans[best]->engine(), times[best], times.front());
  return {plans[best]->engine(), times[best]};
}

AttentionPlans& device_attention_plans() {
  // Never destroyed: the driver may be gone before static objects are.
  static auto& plans = *new AttentionPlans;
  return plans;
}

std::array<void*, 5> operands_of(const AttentionForward& args) {
  return {operand(args.q), operand(args.k), operand(args.v), args.o, operand(args.log_sum_exp)};
}

std::array<void*, 9> operands_of(const AttentionBackward& args) {
  return {operand(args.q),           operand(args.k), operand(args.v), operand(args.o), operand(args.d_o),
          operand(args.log_sum_exp), args.dq,         args.dk,         args.dv};
}

void AttentionPlans::use(const AlgorithmChoices& choices) {
  const std::scoped_lock lock(mutex_);
  if (choices_ == choices) return;
  choices_ = choices;
  plans_.clear();
}

}  // namespace octet::cuda

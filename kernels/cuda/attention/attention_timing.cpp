#include "kernels/attention_timing.h"

#include "kernels/cuda/attention/attention_plan.h"
#include "kernels/cuda/attention/document_plans.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gemm/gemm_operands.h"
#include "kernels/cuda/host/cudnn_loading.h"
#include "kernels/cuda/host/launch.h"
#include "kernels/cuda/host/settings.h"
#include "kernels/cuda/host/trial_timer.h"
#include "src/base/heartbeat.h"

namespace octet {
namespace cuda {
namespace {

AttentionPlanKey key_of(const AttentionProblem& problem) {
  return {problem.shape, problem.pass, settings().deterministic};
}

/// Memory for one attention. In no ledger, as TrialMemory says.
class TimedAttention {
 public:
  TimedAttention(Stream& stream, const AttentionProblem& problem, TrialValues& values)
      : stream_(stream), problem_(problem) {
    const AttentionShape& s = problem.shape;
    const std::int64_t queries = s.bytes(1, 0) - log_sums(), keys = s.bytes(0, 1) - log_sums();
    forward_ = {.shape = s,
                .q = filled(queries, values),
                .k = filled(keys, values),
                .v = filled(keys, values),
                .o = take(queries),
                .log_sum_exp = static_cast<float*>(take(log_sums()))};
    if (problem.pass == AttentionPass::forward) return;
    forward_.workspace = take(attention_forward_workspace(forward_));
    attention_forward(stream, forward_);
    backward_ = {.shape = s,
                 .q = forward_.q,
                 .k = forward_.k,
                 .v = forward_.v,
                 .o = forward_.o,
                 .d_o = filled(queries, values),
                 .log_sum_exp = forward_.log_sum_exp,
                 .dq = take(queries),
                 .dk = take(keys),
                 .dv = take(keys)};
  }

  std::vector<double> time(std::span<const std::unique_ptr<AttentionPlan>> plans) {
    heartbeat::begin("timing of attention's plans");
    std::int64_t bytes = 0;
    for (const auto& plan : plans) bytes = std::max(bytes, plan->workspace());
    void* const workspace = take(bytes);
    std::vector<Trial> trials;
    for (const auto& plan : plans) {
      trials.emplace_back([this, &plan, workspace] { return execute(*plan, workspace); });
    }
    return least_microseconds(stream_, trials);
  }

 private:
  std::int64_t log_sums() const {
    const AttentionShape& s = problem_.shape;
    return s.batch * s.heads * s.seq * static_cast<std::int64_t>(sizeof(float));
  }
  bool execute(const AttentionPlan& plan, void* workspace) const {
    try {
      if (problem_.pass == AttentionPass::forward) {
        plan.execute(native(stream_), operands_of(forward_), workspace);
      } else {
        plan.execute(native(stream_), operands_of(backward_), workspace);
      }
    } catch (const Error&) {
      return false;
    }
    return true;
  }
  void* take(std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    check(cudaMalloc(memory_.emplace_back().out(), size), "memory to time attention in");
    return memory_.back().get();
  }
  void* filled(std::int64_t bytes, TrialValues& values) {
    void* const memory = take(bytes);
    values.fill(memory, bytes, problem_.shape.dtype);
    return memory;
  }

  Stream& stream_;
  AttentionProblem problem_;
  AttentionForward forward_;
  AttentionBackward backward_;
  std::vector<TrialMemory> memory_;
};

}  // namespace
}  // namespace cuda

AlgorithmPlatform attention_platform(Stream& stream) {
  AlgorithmPlatform platform{.kind = AlgorithmKind::attention, .library_version = 0, .device = stream.device().name()};
  try {
    platform.library_version = cuda::cudnn_version();
  } catch (const Error&) {  // a run without cuDNN goes on with kernels of our own
  }
  return platform;
}

bool has_attention_plan(Stream& stream, const AttentionProblem& problem) {
  return cuda::device_attention_plans().find(cuda::key_of(problem), &stream).plan != nullptr;
}

std::string why_no_document_plan(Stream& stream, const AttentionProblem& problem, std::int64_t places,
                                 std::int64_t longest) {
  return cuda::document_plan(cuda::device_attention_plans(), problem, places, longest, &stream).why_not;
}

AlgorithmChoices time_attention(Stream& stream, std::span<const AttentionProblem> problems) {
  AlgorithmChoices choices{.platform = attention_platform(stream)};
  cuda::TrialValues values(stream);
  for (const AttentionProblem& problem : problems) {
    heartbeat::begin("timing of attention's plans");
    cuda::TimedAttention timed(stream, problem, values);
    choices.by_problem[text_of(problem)] =
        cuda::device_attention_plans().time(cuda::key_of(problem), [&](const auto plans) { return timed.time(plans); });
    stream.synchronize();
  }
  return choices;
}

void use_attention_choices(const AlgorithmChoices& choices) {
  cuda::device_attention_plans().use(choices);
}

}  // namespace octet

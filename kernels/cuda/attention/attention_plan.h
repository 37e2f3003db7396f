#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernels/algorithm_choices.h"
#include "kernels/attention.h"
#include "kernels/cuda/attention/attention_workspace.h"

/// cuDNN's fused attention as plans: one a shape, pass and mode, built once and kept.
/// https://docs.nvidia.com/deeplearning/cudnn/frontend/latest/operations/Attention.html
namespace octet::cuda {

struct AttentionPlanKey {
  AttentionShape shape;
  AttentionPass pass = AttentionPass::forward;
  /// This concerns the backward pass alone; the forward pass always gives the same bits.
  bool deterministic = false;
  /// For rows of several documents, else 0: how many documents the plan has places for, and the longest that it takes.
  std::int64_t documents = 0, longest = 0;

  AttentionProblem problem() const { return {shape, pass}; }
};
bool operator<(const AttentionPlanKey& a, const AttentionPlanKey& b);
inline std::int64_t attention_workspace_bound(const AttentionPlanKey& key) {
  return attention_workspace_bound(key.problem(), key.deterministic);
}

/// A GPU given as data, for plans that are looked up where there is none. They tell support and workspace, no more.
struct DeviceDescription {
  int sm = 0;              ///< compute capability, 90 for 9.0
  std::string properties;  ///< JSON, as CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION takes it
};

class AttentionPlan {
 public:
  virtual ~AttentionPlan() = default;
  virtual std::int64_t workspace() const = 0;  ///< bytes
  virtual std::string engine() const = 0;      ///< cuDNN's name of what was chosen
  /// Puts the kernels on the stream; nothing waits and nothing is allocated on the device, so it may be captured.
  /// `operands`: forward q, k, v, o, log_sum_exp; backward q, k, v, o, d_o, log_sum_exp, dq, dk, dv, each aligned to
  /// 16 bytes; with documents then those of DocumentOffsets. `workspace` is aligned to 256. Throws internal_error with
  /// cuDNN's own words.
  virtual void execute(cudaStream_t stream, std::span<void* const> operands, void* workspace) const = 0;
};

/// One of the two is set: a plan, or why there is none.
struct AttentionPlanResult {
  std::unique_ptr<AttentionPlan> plan;
  std::string why_not;
};

/// What cuDNN proposes for one attention.
class AttentionGraph {
 public:
  virtual ~AttentionGraph() = default;
  /// cuDNN's names of its engines with their settings: the best by its heuristic first, and each once.
  virtual const std::vector<std::string>& proposals() const = 0;
  /// Builds the plan of that proposal, which takes cuDNN up to a second; the plan may outlive this. Throws
  /// internal_error with cuDNN's own words where it cannot.
  virtual std::unique_ptr<AttentionPlan> build(std::size_t proposal) const = 0;
};

/// One of the two is set.
struct AttentionGraphResult {
  std::unique_ptr<AttentionGraph> graph;
  std::string why_not;
};

/// Asks cuDNN. Loads libcudnn at the first call; never throws for want of it. `device`: null for the current one.
AttentionGraphResult make_attention_graph(const AttentionPlanKey& key, const DeviceDescription* device);

/// make_attention_graph of one device, or a test's in its place.
using AttentionLibrary = std::function<AttentionGraphResult(const AttentionPlanKey&)>;

/// Microseconds of each plan, infinite for one that does not run.
using AttentionTimer = std::function<std::vector<double>(std::span<const std::unique_ptr<AttentionPlan>>)>;

/// The plans of one device. The first use of a key builds its plan.
class AttentionPlans {
 public:
  /// The plans are for the current CUDA device.
  AttentionPlans();
  explicit AttentionPlans(DeviceDescription device);
  explicit AttentionPlans(AttentionLibrary library) : library_(std::move(library)) {}

  /// The plan that was chosen, else the first of cuDNN's proposals that can be built. A chosen plan that is not among
  /// the proposals, or wants more workspace than attention_workspace_bound, is a warning. Where the fallback kernel is
  /// used, this logs why and at what cost, once for each reason. The result lives until the next call of `use`.
  /// `stream`, when given, is the one on which the plan will run: building during its capture is refused.
  const AttentionPlanResult& find(AttentionPlanKey key, Stream* stream = nullptr);

  /// The fastest of cuDNN's proposals for a key that has a plan. Timed are the first proposal and, if it keeps to
  /// attention_workspace_bound, up to seven others that do so too.
  AlgorithmChoice time(const AttentionPlanKey& key, const AttentionTimer& timer);

  /// Puts choices in force, in place of all earlier ones. They concern no plan that is deterministic.
  void use(const AlgorithmChoices& choices);

  std::size_t size() const { return plans_.size(); }

 private:
  AttentionPlanResult make(const AttentionPlanKey& key) const;
  std::string choice_for(const AttentionPlanKey& key) const;

  AttentionLibrary library_;
  std::mutex mutex_;
  AlgorithmChoices choices_;
  std::map<AttentionPlanKey, AttentionPlanResult> plans_;
  std::set<std::string> said_;
};

/// The plans of this process's device.
AttentionPlans& device_attention_plans();

/// What AttentionPlan::execute takes.
std::array<void*, 5> operands_of(const AttentionForward& args);
std::array<void*, 9> operands_of(const AttentionBackward& args);

/// Why cuDNN is not asked for a plan; empty where it is.
std::string why_no_attention_plan(const AttentionPlanKey& key);
/// The same of what depends on cuDNN's version, which is known once it is loaded.
std::string why_no_attention_plan(const AttentionPlanKey& key, std::size_t cudnn_version);

}  // namespace octet::cuda

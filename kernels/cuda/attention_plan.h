#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "kernels/attention.h"

/// cuDNN's fused attention as plans: one a shape, pass and mode, built once and kept.
/// https://docs.nvidia.com/deeplearning/cudnn/frontend/latest/operations/Attention.html
namespace octet::cuda {

enum class AttentionPass : std::uint8_t { forward, backward };

struct AttentionPlanKey {
  AttentionShape shape;
  AttentionPass pass = AttentionPass::forward;
  /// This concerns the backward pass alone; the forward pass always gives the same bits.
  bool deterministic = false;
};
bool operator<(const AttentionPlanKey& a, const AttentionPlanKey& b);

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
  /// 16 bytes. `workspace` is aligned to 256. Throws internal_error with cuDNN's own words.
  virtual void execute(cudaStream_t stream, std::span<void* const> operands, void* workspace) const = 0;
};

/// One of the two is set: a plan, or why there is none.
struct AttentionPlanResult {
  std::unique_ptr<AttentionPlan> plan;
  std::string why_not;
};

/// Asks cuDNN, which takes up to a second. Loads libcudnn at the first call; never throws for want of it.
AttentionPlanResult make_attention_plan(const AttentionPlanKey& key, const DeviceDescription* device);

/// The plans of one device. The first use of a key builds its plan.
class AttentionPlans {
 public:
  /// The plans are for the current CUDA device.
  AttentionPlans() = default;
  explicit AttentionPlans(DeviceDescription device) : device_(std::make_unique<DeviceDescription>(std::move(device))) {}

  /// Says once for each reason that, why and at what cost the fallback kernel is used. Lives as long as this object.
  /// `stream`, when given, is the one on which the plan will run: building during its capture is refused.
  const AttentionPlanResult& find(AttentionPlanKey key, Stream* stream = nullptr);
  std::size_t size() const { return plans_.size(); }

 private:
  std::unique_ptr<DeviceDescription> device_;
  std::mutex mutex_;
  std::map<AttentionPlanKey, AttentionPlanResult> plans_;
  std::set<std::string> said_;
};

}  // namespace octet::cuda

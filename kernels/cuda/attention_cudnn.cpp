// The one file that includes cudnn-frontend: by the host compiler it takes 40 s and 1.4 GB (kernels/room.cmake).
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/attention_plan.h"
#include "kernels/cuda/cudnn_loading.h"
#include "src/base/error.h"

#define dlopen ::octet::cuda::open_for_cudnn
#define dlsym ::octet::cuda::symbol_for_cudnn
#include <cudnn_frontend.h>
#undef dlopen
#undef dlsym

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // set before the first call of anything else
}

namespace octet::cuda {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;
using TensorPointer = std::shared_ptr<fe::graph::Tensor_attributes>;

/// cuDNN's state for the current device, one a process as the device is. Its stream is set at every call.
class Handle {
 public:
  Handle() {
    if (const cudnnStatus_t status = fe::detail::create_handle(&handle_); status != CUDNN_STATUS_SUCCESS) {
      throw internal_error("kernels", "cudnnCreate: {}", fe::detail::get_error_string(status));
    }
  }
  cudnnHandle_t get() const { return handle_; }
  std::mutex& mutex() { return mutex_; }

 private:
  cudnnHandle_t handle_ = nullptr;  // never destroyed: the driver may be gone before static objects are
  std::mutex mutex_;
};

Handle& handle() {
  static Handle instance;
  return instance;
}

/// The sizes and strides that cuDNN wants, [batch, heads, seq, head_dim], of arrays that are [batch, seq, heads,
/// head_dim]. Operands have the numbers 1, 2, 3, ... in the order of AttentionPlan::execute.
class Operands {
 public:
  explicit Operands(const AttentionShape& shape) : s_(shape) {}

  fe::graph::Tensor_attributes heads(std::int64_t heads) {
    const std::int64_t row = heads * s_.head_dim;
    return tensor({s_.batch, heads, s_.seq, s_.head_dim}, {s_.seq * row, s_.head_dim, row, 1},
                  fe::DataType_t::BFLOAT16);
  }
  fe::graph::Tensor_attributes log_sum_exp() {
    return tensor({s_.batch, s_.heads, s_.seq, 1}, {s_.heads * s_.seq, s_.seq, 1, 1}, fe::DataType_t::FLOAT);
  }
  /// The next number, for an output that the graph has made.
  void output(const TensorPointer& made, const fe::graph::Tensor_attributes& as) {
    made->set_output(true)
        .set_uid(as.get_uid())
        .set_dim(as.get_dim())
        .set_stride(as.get_stride())
        .set_data_type(as.get_data_type());
  }

 private:
  fe::graph::Tensor_attributes tensor(std::vector<std::int64_t> dim, std::vector<std::int64_t> stride,
                                      fe::DataType_t type) {
    fe::graph::Tensor_attributes made;
    made.set_uid(++last_).set_dim(dim).set_stride(stride).set_data_type(type);
    return made;
  }

  const AttentionShape& s_;
  std::int64_t last_ = 0;
};

void add_forward(Graph& graph, const AttentionShape& s) {
  Operands operands(s);
  const TensorPointer q = graph.tensor(operands.heads(s.heads));
  const TensorPointer k = graph.tensor(operands.heads(s.kv_heads));
  const TensorPointer v = graph.tensor(operands.heads(s.kv_heads));
  const auto [o, log_sum_exp] = graph.sdpa(q, k, v,
                                           fe::graph::SDPA_attributes()
                                               .set_name("attention")
                                               .set_generate_stats(true)  // natural logarithm, of the scaled scores
                                               .set_attn_scale(s.scale)
                                               .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
                                               .set_diagonal_band_right_bound(0));
  operands.output(o, operands.heads(s.heads));
  operands.output(log_sum_exp, operands.log_sum_exp());
}

void add_backward(Graph& graph, const AttentionShape& s, bool deterministic) {
  Operands operands(s);
  const TensorPointer q = graph.tensor(operands.heads(s.heads));
  const TensorPointer k = graph.tensor(operands.heads(s.kv_heads));
  const TensorPointer v = graph.tensor(operands.heads(s.kv_heads));
  const TensorPointer o = graph.tensor(operands.heads(s.heads));
  const TensorPointer d_o = graph.tensor(operands.heads(s.heads));
  const TensorPointer log_sum_exp = graph.tensor(operands.log_sum_exp());
  const auto [dq, dk, dv] = graph.sdpa_backward(q, k, v, o, d_o, log_sum_exp,
                                                fe::graph::SDPA_backward_attributes()
                                                    .set_name("attention_backward")
                                                    .set_attn_scale(s.scale)
                                                    .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
                                                    .set_diagonal_band_right_bound(0)
                                                    .set_deterministic_algorithm(deterministic));
  operands.output(dq, operands.heads(s.heads));
  operands.output(dk, operands.heads(s.kv_heads));
  operands.output(dv, operands.heads(s.kv_heads));
}

/// Throws what cuDNN says, in one line of bounded length: it may be its whole search.
void require(fe::error_t status) {
  if (status.is_good()) return;
  std::string message = status.get_message().substr(0, 600);
  std::replace(message.begin(), message.end(), '\n', ' ');
  throw internal_error("kernels", "attention: {}", message);
}

/// Before anything is added: what is added takes the compute capability along.
void describe(Graph& graph, const DeviceDescription& device) {
  const auto properties = std::make_shared<fe::DeviceProperties>();
  require(properties->deserialize({device.properties.begin(), device.properties.end()}));
  graph.set_device_properties(properties).set_sm_version(device.sm);
}

void build(Graph& graph, bool device_here) {
  const std::vector<fe::HeurMode_t> modes{fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK};
  if (!device_here) return require(graph.build(modes));
  const std::scoped_lock lock(handle().mutex());
  require(graph.build(handle().get(), modes));
}

class CudnnPlan final : public AttentionPlan {
 public:
  CudnnPlan(const AttentionPlanKey& key, const DeviceDescription* device) : executable_(device == nullptr) {
    graph_.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    if (device != nullptr) describe(graph_, *device);
    if (key.pass == AttentionPass::forward) {
      add_forward(graph_, key.shape);
    } else {
      add_backward(graph_, key.shape, key.deterministic);
    }
    build(graph_, executable_);
    require(graph_.get_workspace_size(workspace_));
    require(graph_.get_plan_name(engine_));
  }

  std::int64_t workspace() const override { return workspace_; }
  std::string engine() const override { return engine_; }

  void execute(cudaStream_t stream, std::span<void* const> operands, void* workspace) const override {
    if (!executable_) throw internal_error("kernels", "attention: a plan for a device that is not here");
    std::array<void*, 9> pointers{};  // in the order of their numbers, as cudnn-frontend wants them
    std::copy(operands.begin(), operands.end(), pointers.begin());
    const std::scoped_lock lock(handle().mutex());
    if (const cudnnStatus_t status = fe::detail::set_stream(handle().get(), stream); status != CUDNN_STATUS_SUCCESS) {
      throw internal_error("kernels", "cudnnSetStream: {}", fe::detail::get_error_string(status));
    }
    require(graph_.execute(handle().get(), pointers.data(), static_cast<int>(operands.size()), workspace));
  }

 private:
  Graph graph_;
  bool executable_;
  std::int64_t workspace_ = 0;
  std::string engine_;
};

}  // namespace

AttentionPlanResult make_attention_plan(const AttentionPlanKey& key, const DeviceDescription* device) {
  try {
    fe::cudnn_dlhandle = cudnn_library();
  } catch (const Error& error) {
    return {.plan = nullptr, .why_not = error.what()};
  }
  try {
    return {.plan = std::make_unique<CudnnPlan>(key, device), .why_not = ""};
  } catch (const std::exception& error) {  // ours, and what cudnn-frontend throws for a symbol that is missing
    std::string why = fmt::format("cuDNN {}: {}", fe::detail::get_backend_version(), error.what());
    if (!why_no_nvrtc().empty()) why += "; " + why_no_nvrtc();
    return {.plan = nullptr, .why_not = why};
  }
}

}  // namespace octet::cuda

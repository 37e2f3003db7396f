// The one file that includes cudnn-frontend: by the host compiler it takes 40 s and 1.4 GB (kernels/room.cmake).
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/attention/attention_plan.h"
#include "kernels/cuda/host/cudnn_loading.h"
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
///
/// With documents a batch entry is a document, which begins at its offset in elements ("ragged"), and log_sum_exp is
/// [batch · seq, heads]: cuDNN before 9.26 reads it ragged or packed, and packed has no place for documents.
class Operands {
 public:
  /// `operands`: how many come before the offsets.
  Operands(const AttentionPlanKey& key, Graph& graph, std::int64_t operands)
      : s_(key.shape),
        batch_(key.documents > 0 ? key.documents : s_.batch),
        seq_(key.documents > 0 ? key.longest : s_.seq) {
    if (key.documents == 0) return;
    const auto add = [&](std::int64_t n, fe::DataType_t type) {
      fe::graph::Tensor_attributes made;
      made.set_uid(++operands).set_dim({n, 1, 1, 1}).set_stride({1, 1, 1, 1}).set_data_type(type);
      return graph.tensor(made);
    };
    query_offsets_ = add(batch_ + 1, fe::DataType_t::INT64);
    key_offsets_ = add(batch_ + 1, fe::DataType_t::INT64);
    sum_offsets_ = add(batch_ + 1, fe::DataType_t::INT64);
    lengths_ = add(batch_, fe::DataType_t::INT32);
  }

  /// By role, not by size: cudnn-frontend refuses a pointer to offsets that no operand has, as those of keys would be
  /// where there are as many keys as queries.
  fe::graph::Tensor_attributes queries() { return heads(s_.heads, query_offsets_); }
  fe::graph::Tensor_attributes keys() { return heads(s_.kv_heads, key_offsets_); }
  fe::graph::Tensor_attributes log_sum_exp() {
    if (!lengths_) {
      return tensor({batch_, s_.heads, seq_, 1}, {s_.heads * seq_, seq_, 1, 1}, fe::DataType_t::FLOAT);
    }
    auto made = tensor({batch_, s_.heads, seq_, 1}, {s_.heads * seq_, 1, s_.heads, 1}, fe::DataType_t::FLOAT);
    made.set_ragged_offset(sum_offsets_);
    return made;
  }
  /// The next number, for an output that the graph has made.
  void output(const TensorPointer& made, fe::graph::Tensor_attributes as) {
    made->set_output(true)
        .set_uid(as.get_uid())
        .set_dim(as.get_dim())
        .set_stride(as.get_stride())
        .set_data_type(as.get_data_type());
    if (lengths_) made->set_ragged_offset(as.get_ragged_offset());
  }
  /// The documents' lengths, where there are documents.
  template <typename Attributes>
  void describe(Attributes& attributes) const {
    if (!lengths_) return;
    attributes.set_padding_mask(true).set_seq_len_q(lengths_).set_seq_len_kv(lengths_);
  }
  bool has_documents() const { return lengths_ != nullptr; }

 private:
  fe::graph::Tensor_attributes heads(std::int64_t heads, const TensorPointer& offsets) {
    const std::int64_t row = heads * s_.head_dim;
    auto made = tensor({batch_, heads, seq_, s_.head_dim}, {seq_ * row, s_.head_dim, row, 1}, fe::DataType_t::BFLOAT16);
    if (offsets) made.set_ragged_offset(offsets);
    return made;
  }
  fe::graph::Tensor_attributes tensor(std::vector<std::int64_t> dim, std::vector<std::int64_t> stride,
                                      fe::DataType_t type) {
    fe::graph::Tensor_attributes made;
    made.set_uid(++last_).set_dim(dim).set_stride(stride).set_data_type(type);
    return made;
  }

  const AttentionShape& s_;
  std::int64_t batch_, seq_;
  std::int64_t last_ = 0;
  TensorPointer query_offsets_, key_offsets_, sum_offsets_, lengths_;
};

void add_forward(Graph& graph, const AttentionPlanKey& key) {
  const AttentionShape& s = key.shape;
  Operands operands(key, graph, 5);
  const TensorPointer q = graph.tensor(operands.queries());
  const TensorPointer k = graph.tensor(operands.keys());
  const TensorPointer v = graph.tensor(operands.keys());
  auto attributes = fe::graph::SDPA_attributes();
  attributes.set_name("attention")
      .set_generate_stats(true)  // natural logarithm, of the scaled scores
      .set_attn_scale(s.scale)
      .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
      .set_diagonal_band_right_bound(0);
  operands.describe(attributes);
  const auto [o, log_sum_exp] = graph.sdpa(q, k, v, attributes);
  operands.output(o, operands.queries());
  operands.output(log_sum_exp, operands.log_sum_exp());
}

void add_backward(Graph& graph, const AttentionPlanKey& key) {
  const AttentionShape& s = key.shape;
  Operands operands(key, graph, 9);
  const TensorPointer q = graph.tensor(operands.queries());
  const TensorPointer k = graph.tensor(operands.keys());
  const TensorPointer v = graph.tensor(operands.keys());
  const TensorPointer o = graph.tensor(operands.queries());
  const TensorPointer d_o = graph.tensor(operands.queries());
  const TensorPointer log_sum_exp = graph.tensor(operands.log_sum_exp());
  auto attributes = fe::graph::SDPA_backward_attributes();
  attributes.set_name("attention_backward")
      .set_attn_scale(s.scale)
      .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
      .set_diagonal_band_right_bound(0)
      .set_deterministic_algorithm(key.deterministic);
  operands.describe(attributes);
  if (operands.has_documents()) {  // without it the workspace would be that of as many documents of the longest kind
    attributes.set_max_total_seq_len_q(s.batch * s.seq).set_max_total_seq_len_kv(s.batch * s.seq);
  }
  const auto [dq, dk, dv] = graph.sdpa_backward(q, k, v, o, d_o, log_sum_exp, attributes);
  operands.output(dq, operands.queries());
  operands.output(dk, operands.keys());
  operands.output(dv, operands.keys());
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

/// Plans share the graph, and keep it.
class CudnnPlan final : public AttentionPlan {
 public:
  /// Of a plan that is built; `executable`: for the device that is here.
  CudnnPlan(std::shared_ptr<Graph> graph, std::int64_t index, std::string engine, bool executable)
      : graph_(std::move(graph)), index_(index), engine_(std::move(engine)), executable_(executable) {
    require(graph_->get_workspace_size_plan_at_index(index_, workspace_));
  }

  std::int64_t workspace() const override { return workspace_; }
  std::string engine() const override { return engine_; }

  void execute(cudaStream_t stream, std::span<void* const> operands, void* workspace) const override {
    if (!executable_) throw internal_error("kernels", "attention: a plan for a device that is not here");
    std::array<void*, 13> pointers{};  // in the order of their numbers, as cudnn-frontend wants them
    std::copy(operands.begin(), operands.end(), pointers.begin());
    const std::scoped_lock lock(handle().mutex());
    if (const cudnnStatus_t status = fe::detail::set_stream(handle().get(), stream); status != CUDNN_STATUS_SUCCESS) {
      throw internal_error("kernels", "cudnnSetStream: {}", fe::detail::get_error_string(status));
    }
    require(graph_->execute_plan_at_index(handle().get(), pointers.data(), static_cast<int>(operands.size()), workspace,
                                          index_));
  }

 private:
  std::shared_ptr<Graph> graph_;
  std::int64_t index_;
  std::string engine_;
  bool executable_;
  std::int64_t workspace_ = 0;
};

/// A graph up to its engines, none of which is built.
class CudnnGraph final : public AttentionGraph {
 public:
  CudnnGraph(const AttentionPlanKey& key, const DeviceDescription* device) : executable_(device == nullptr) {
    graph_->set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    if (device != nullptr) describe(*graph_, *device);
    if (key.pass == AttentionPass::forward) {
      add_forward(*graph_, key);
    } else {
      add_backward(*graph_, key);
    }
    require(graph_->validate());
    if (executable_) {
      const std::scoped_lock lock(handle().mutex());
      require(graph_->build_operation_graph(handle().get()));
    } else {
      require(graph_->build_operation_graph());
    }
    // The first one that can be built is what Graph::build takes with modes A and FALLBACK.
    require(graph_->create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::B, fe::HeurMode_t::FALLBACK}));
    if (key.deterministic) graph_->deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
    for (std::int64_t i = 0; i < graph_->get_execution_plan_count(); ++i) {
      std::string name;
      require(graph_->get_plan_name_at_index(i, name));
      if (std::find(names_.begin(), names_.end(), name) != names_.end()) continue;
      names_.push_back(std::move(name));
      indices_.push_back(i);
    }
  }

  const std::vector<std::string>& proposals() const override { return names_; }

  std::unique_ptr<AttentionPlan> build(std::size_t proposal) const override {
    require(graph_->build_plan_at_index(indices_.at(proposal)));
    return std::make_unique<CudnnPlan>(graph_, indices_[proposal], names_[proposal], executable_);
  }

 private:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  bool executable_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> indices_;
};

}  // namespace

AttentionGraphResult make_attention_graph(const AttentionPlanKey& key, const DeviceDescription* device) {
  try {
    fe::cudnn_dlhandle = cudnn_library();
  } catch (const Error& error) {
    return {.graph = nullptr, .why_not = error.what()};
  }
  if (const std::string why = why_no_attention_plan(key, cudnn_version()); !why.empty()) {
    return {.graph = nullptr, .why_not = why};
  }
  try {
    return {.graph = std::make_unique<CudnnGraph>(key, device), .why_not = ""};
  } catch (const std::exception& error) {  // ours, and what cudnn-frontend throws for a symbol that is missing
    std::string why = fmt::format("cuDNN {}: {}", fe::detail::get_backend_version(), error.what());
    if (!why_no_nvrtc().empty()) why += "; " + why_no_nvrtc();
    return {.graph = nullptr, .why_not = why};
  }
}

}  // namespace octet::cuda

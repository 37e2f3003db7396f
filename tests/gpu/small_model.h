#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "src/comm/mesh.h"
#include "src/train/step/host_transfer.h"
#include "src/train/step/sharded_model.h"

namespace octet::gpu_test {

/// A small whole model on one device, alone in its mesh, with the weights that seed 1 gives on every device.
class SmallModel {
 public:
  static ModelConfig config() {
    ModelConfig m{
        .name = "small", .dim = 256, .layers = 2, .heads = 4, .kv_heads = 2, .ffn_dim = 512, .vocab_size = 320};
    m.finish();
    return m;
  }
  static constexpr std::int64_t batch = 2, seq = 128, tokens = batch * seq;

  /// `documents`: their lengths, which fill the rows; none: a row is one. `gradients`: of the blocks' linears.
  SmallModel(Device& device, Precision precision, const std::vector<std::int64_t>& documents = {},
             DType gradients = DType::f32)
      : device_(device),
        stream_(device.make_stream()),
        mesh_(make_self_communicator(*stream_, "world"), {}),
        model_({.model = config(),
                .precision = precision,
                .float8 = {},
                .micro_batch = batch,
                .seq_len = seq,
                .documents = !documents.empty(),
                .gemm_gradient_dtype = gradients},
               {},
               {.zero = Zero::two,
                .float8_all_gather = true,
                .gradient_wire = gradients,
                .gemm_gradient_dtype = gradients},
               mesh_, *stream_, nullptr),
        tokens_(device, DType::i32, {batch, seq}, Purpose::data),
        targets_(device, DType::i32, {batch, seq}, Purpose::data),
        loss_(device, DType::f32, {1}, Purpose::workspace),
        upload_(*stream_, batch, seq, !documents.empty()) {
    if (!documents.empty()) upload(documents);
    model_.initialize(1);
    fill(tokens_, 2);
    fill(targets_, 3);
  }

  /// Forward and backward of the batch; issued, not waited for.
  void forward_backward() {
    device_.zero(loss_.view().data, 4, *stream_);
    model_.begin_step(1);
    model_.forward_backward({tokens_.view().as<std::int32_t>(), targets_.view().as<std::int32_t>(), 1.0f / tokens,
                             loss_.view().as<float>(), documents_});
  }
  double norm() { return static_cast<double>(download(model_.norm().norm(), 1)[0]); }
  void finish_step(std::int64_t step) { model_.finish_step(step, 1e-3); }

  double loss() { return static_cast<double>(download(loss_.view().as<float>(), 1)[0]) / tokens; }
  std::vector<float> gradient(std::size_t parameter) {
    const std::int64_t n = model_.gradients().layout().shard(parameter).elements();
    if (model_.gradients().dtype(parameter) == DType::f32) return download(model_.gradients().data(parameter), n);
    const auto narrow = download(static_cast<const bf16*>(model_.gradients().piece(parameter)), n);
    std::vector<float> values;
    for (const bf16 v : narrow) values.push_back(static_cast<float>(v));
    return values;
  }
  std::vector<float> all_gradients() {
    return download(model_.gradients().all(), model_.gradients().layout().elements());
  }
  void zero_gradients() { device_.zero(model_.gradients().all(), model_.gradients().layout().bytes(), *stream_); }

  const ParameterList& parameters() const { return model_.parameters(); }
  Stream& stream() { return *stream_; }

 private:
  void upload(const std::vector<std::int64_t>& lengths) {
    Batch whole;
    whole.resize(batch, seq);
    for (const std::int64_t length : lengths) {
      const auto first = static_cast<std::int32_t>(static_cast<std::int64_t>(whole.document_begin.size()) % seq);
      whole.document_begin.insert(whole.document_begin.end(), static_cast<std::size_t>(length), first);
    }
    documents_ = upload_.upload(whole).documents;
    stream_->synchronize();
  }
  void fill(const TensorBuffer& buffer, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_int_distribution<std::int32_t> token(0, static_cast<std::int32_t>(config().vocab_size) - 1);
    std::vector<std::int32_t> values(tokens);
    for (std::int32_t& v : values) v = token(generator);
    device_.copy_from_host(buffer.view().data, values.data(), buffer.view().bytes(), *stream_);
    stream_->synchronize();
  }
  template <typename T>
  std::vector<T> download(const T* from, std::int64_t n) {
    std::vector<T> values(static_cast<std::size_t>(n));
    device_.copy_to_host(values.data(), from, n * static_cast<std::int64_t>(sizeof(T)), *stream_);
    stream_->synchronize();
    return values;
  }

  Device& device_;
  std::unique_ptr<Stream> stream_;
  Mesh mesh_;
  ShardedModel model_;
  TensorBuffer tokens_, targets_, loss_;
  BatchUpload upload_;  ///< holds the lists of documents
  PackedDocuments documents_{};
};

}  // namespace octet::gpu_test

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/trace.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/train/step/sharded_model.h"
#include "tests/support/delayed_communicator.h"
#include "tests/support/global_element.h"

namespace octet {

/// How many ranks this test program has.
inline int world_size() {
  return make_mpi_communicator(*cpu_device().make_stream(), "world")->size();
}

/// A small ShardedModel on all ranks of the test program, fed with given weights and batches.
class Harness {
 public:
  struct Options {
    Precision precision = Precision::fp32;
    Float8Config float8{};
    std::int64_t micro_batch = 1;
    int dp_replicate = 1;
    int tp = 1;
    bool tp_keep_gathered = false;
    bool async_tp = false;
    Zero zero = Zero::three;
    DType whole_gradients = DType::f32;
    DType gradient_wire = DType::f32;
    DType gemm_gradient_dtype = DType::f32;
    bool overlap = false;
    bool poison = false;
    std::uint64_t delays = 0;  ///< seed of random delays before collectives; 0: none
    OptimizerConfig optimizer{};
    RecomputeConfig recompute{};
  };

  Harness(const ModelConfig& model, std::int64_t seq_len, Options options)
      : Harness(model, seq_len, options, cpu_device().make_stream(), false) {}

  /// The same on this rank alone, whatever the other ranks do: what layouts are compared with.
  static Harness alone(const ModelConfig& model, std::int64_t seq_len, Options options) {
    options.dp_replicate = options.tp = 1;
    options.tp_keep_gathered = options.async_tp = false;
    options.gradient_wire = options.gemm_gradient_dtype = DType::f32;
    options.overlap = false;
    return Harness(model, seq_len, options, cpu_device().make_stream(), true);
  }

 private:
  Harness(const ModelConfig& model, std::int64_t seq_len, const Options& options, std::unique_ptr<Stream> stream,
          bool alone)
      : options_(options),
        stream_(std::move(stream)),
        mesh_(make_traced(world(*stream_, options.delays, alone), &communication),
              {.dp_replicate = options.dp_replicate, .dp_shard = 0, .tp = options.tp}),
        seq_len_(seq_len),
        llama_settings_{.model = model,
                        .precision = options.precision,
                        .float8 = options.float8,
                        .micro_batch = options.micro_batch,
                        .seq_len = seq_len,
                        .tp = {mesh_.tp().rank(), mesh_.tp().size()},
                        .tp_keep_gathered = options.tp_keep_gathered,
                        .async_tp = options.async_tp,
                        .recompute = options.recompute,
                        .documents = true,
                        .gemm_gradient_dtype = options.gemm_gradient_dtype},
        sharded_(llama_settings_, options.optimizer,
                 {.zero = options.zero,
                  .whole_gradients = options.whole_gradients,
                  .float8_all_gather = recipe_of(options.precision, options.float8)->gathers_float8(),
                  .gradient_wire = options.gradient_wire,
                  .gemm_gradient_dtype = options.gemm_gradient_dtype,
                  .overlap = options.overlap,
                  .poison = options.poison},
                 mesh_, *stream_, &gemms) {}

  static std::unique_ptr<Communicator> world(Stream& stream, std::uint64_t delays, bool alone) {
    if (alone) return make_self_communicator(stream, "world");
    auto all = make_mpi_communicator(stream, "world");
    if (delays == 0) return all;
    return std::make_unique<test::DelayedCommunicator>(std::move(all), delays);
  }

 public:
  ShardedModel& sharded() { return sharded_; }
  const LlamaSettings& llama_settings() const { return llama_settings_; }
  Mesh& mesh() { return mesh_; }
  Stream& stream() { return *stream_; }

  /// Writes this rank's piece of a whole parameter.
  void set_weight(const std::string& name, const std::vector<float>& whole) {
    const std::size_t i = index(name);
    const Shard& shard = sharded_.master().layout().shard(i);
    for (std::int64_t e = 0; e < shard.elements(); ++e) {
      sharded_.master().data(i)[e] = whole[static_cast<std::size_t>(test::global_element(shard, e))];
    }
  }

  /// The whole of a sharded buffer's parameter, from all ranks.
  std::vector<float> whole(const ShardedBuffer& buffer, const std::string& name) {
    const std::size_t i = index(name);
    const Shard& shard = buffer.layout().shard(i);
    const std::int64_t padded = shard.padded_elements() * mesh_.fsdp().size(), part = shard.cut.elements();
    const int parts = mesh_.tp().size();
    std::vector<float> mine(static_cast<std::size_t>(padded)), all(static_cast<std::size_t>(part * parts));
    mesh_.fsdp().all_gather(buffer.data(i), mine.data(), shard.padded_elements(), DType::f32);
    mesh_.tp().all_gather(mine.data(), all.data(), part, DType::f32);
    const TensorCut cut = sharded_.parameters().parameters[i].cut;
    std::vector<float> whole(static_cast<std::size_t>(shard.global.elements()));
    for (int p = 0; p < parts; ++p) {
      const Shard of_part = Shard::of(shard.global, {cut.dim, {p, parts}}, 0, 1);
      for (std::int64_t e = 0; e < part; ++e) {
        whole[static_cast<std::size_t>(test::global_element(of_part, e))] = all[static_cast<std::size_t>(p * part + e)];
      }
    }
    return whole;
  }

  /// Forward and backward of a global batch [sequences, seq_len]; every rank takes its part. Returns the mean loss.
  /// `document_begin`: PackedDocuments::begin of all, or empty.
  double forward_backward(const std::vector<std::int32_t>& tokens, const std::vector<std::int32_t>& targets,
                          const std::vector<std::int32_t>& document_begin = {}) {
    const auto total = static_cast<std::int64_t>(tokens.size());
    const std::int64_t mine = total / mesh_.dp().size(), micro = options_.micro_batch * seq_len_;
    if (mine % micro != 0 || mine * mesh_.dp().size() != total) {
      throw internal_error("tests", "{} tokens do not divide over {} ranks", total, mesh_.dp().size());
    }
    float loss = 0;
    sharded_.begin_step(mine / micro);
    for (std::int64_t begin = mesh_.dp().rank() * mine; begin < (mesh_.dp().rank() + 1) * mine; begin += micro) {
      sharded_.forward_backward({tokens.data() + begin,
                                 targets.data() + begin,
                                 1.0f / static_cast<float>(total),
                                 &loss,
                                 {.begin = document_begin.empty() ? nullptr : document_begin.data() + begin}});
    }
    mesh_.dp().all_reduce(&loss, 1, DType::f32, ReduceOp::sum);
    return static_cast<double>(loss) / static_cast<double>(total);
  }

  GemmTrace gemms;
  CommTrace communication;

 private:
  std::size_t index(const std::string& name) const {
    const auto& list = sharded_.parameters().parameters;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].name == name) return i;
    }
    throw internal_error("tests", "no parameter {}", name);
  }

  Options options_;
  std::unique_ptr<Stream> stream_;
  Mesh mesh_;
  std::int64_t seq_len_;
  LlamaSettings llama_settings_;
  ShardedModel sharded_;
};

}  // namespace octet

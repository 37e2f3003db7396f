#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/comm/mesh.h"
#include "src/model/llama.h"
#include "src/parallel/fsdp_weights.h"

namespace octet {

/// Weights that never change. Each unit is made from its masters, which are freed before those of the next unit are
/// read: a rank holds the weights that it computes with, and beside them the masters of at most one unit. Masters that
/// are the weights themselves (fp32 without an exchange) stay. The bits are those that FsdpWeights makes of all masters
/// at once.
class ForwardWeights final : public WeightProvider {
 public:
  /// Writes this rank's pieces of a unit's parameters into a buffer of theirs, which is zero. Collective.
  using ReadMasters = std::function<void(const ParameterList& unit, const ShardedBuffer& masters)>;

  /// `mesh`: its groups on `stream`. All outlive the weights.
  ForwardWeights(Llama& llama, Mesh& mesh, Stream& stream, const FsdpOptions& options)
      : llama_(llama), mesh_(mesh), stream_(stream), options_(options) {}

  /// Makes all units, in forward order. Once, before the first gather. Collective over the mesh.
  void load(const ReadMasters& read);

  void begin_pass(std::span<const int>) override {}
  std::span<const Tensor> gather(int unit) override { return units_.at(static_cast<std::size_t>(unit))->tensors; }
  void release(int) override {}

 private:
  /// A model of one unit, as far as weights are concerned.
  struct Unit {
    Unit(ParameterList held, Llama& llama, Mesh& mesh, Stream& stream, const FsdpOptions& options);
    /// Says whether some of the masters are what the model computes with.
    bool uses_masters() const;

    ParameterList list;
    ShardLayout layout;
    ShardedBuffer masters;
    WeightScales scales;
    FsdpWeights weights;
    std::span<const Tensor> tensors;
  };

  Llama& llama_;
  Mesh& mesh_;
  Stream& stream_;
  FsdpOptions options_;
  std::vector<std::unique_ptr<Unit>> units_;
};

}  // namespace octet

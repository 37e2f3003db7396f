#pragma once

#include "src/comm/mesh.h"

/// These functions say, in one place, over which ranks the numbers of a step are summed or maximised. A sum goes over
/// the ranks that have different parts of it, and over no two that have the same; a maximum may meet a part twice.
/// Ranks that have nothing of a quantity (a pipeline stage without the head has no loss) bring 0.
///
/// What has the dimensions of tensors goes between devices, by a group of the mesh. What the CPU sides of ranks know
/// goes over all ranks, by `control` (src/comm/control_exchange.h), which is never a group of the mesh but in a dry
/// run: the counters of what is not finite, requests to stop or to save, the ranks' pace.
namespace octet::reductions {

/// Sum. Data parts and context parts have losses of different tokens; the ranks of a tp group compute all of theirs.
inline Communicator& loss(Mesh& mesh) {
  return mesh.losses();
}

/// Sum of gradients that the shard group has already summed: other replicas have seen other data.
inline Communicator& gradients_of_replicas(Mesh& mesh) {
  return mesh.dp_replicate();
}

/// Sum of the gradients of parameters that tensor parallelism does not cut: each rank's are of its own rows.
inline Communicator& gradients_not_cut(Mesh& mesh) {
  return mesh.tp();
}

/// Sum of squares over every piece of one copy of the model, all stages. Replicas have equal gradients by then. A
/// parameter that is not cut is on every rank of a tp group, and counts on the first one (GradientNorm).
inline Communicator& gradient_norm(Mesh& mesh) {
  return mesh.replica();
}
/// Maximum of that sum: each replica has formed its own, and a difference in the last bit would make their weights
/// differ for good.
inline Communicator& one_gradient_norm(Mesh& mesh) {
  return mesh.dp_replicate();
}

/// Maximum of each weight's pieces, so that it has one scale. Other stages have other weights.
inline Communicator& weight_amax(Mesh& mesh) {
  return mesh.stage_replica();
}

/// The same of a weight that was gathered before it is cast: every rank has its tensor-parallel part whole.
inline Communicator& gathered_weight_amax(Mesh& mesh) {
  return mesh.tp();
}

/// Maximum of what a recipe with a memory records of its casts, over all ranks, since its state is the same on all of
/// them. Casts of another stage's units are 0.
inline Communicator& cast_amax(Mesh& mesh) {
  return mesh.world();
}

/// Says whether this rank's counters of gradients that are not finite go into the sum over all ranks: replicas hold
/// equal gradients, and the first one's count.
inline bool counts_gradients(const Mesh& mesh) {
  return mesh.coordinates().dp_replicate == 0;
}

}  // namespace octet::reductions

#include "src/train/step/model_state.h"

#include <algorithm>
#include <map>
#include <vector>

#include "checkpoints/save/assign_writers.h"
#include "checkpoints/save/save_share.h"
#include "checkpoints/save/snapshot.h"
#include "src/base/log.h"
#include "src/run_config/options/option_texts.h"
#include "src/train/step/load_masters.h"

namespace octet {
namespace {

using checkpoint::TensorKind;

ShardedBuffer& buffer_of(ShardedModel& model, TensorKind kind) {
  return kind == TensorKind::master         ? model.master()
         : kind == TensorKind::first_moment ? model.first_moment()
                                            : model.second_moment();
}

checkpoint::StoredTensor stored(TensorKind kind, const ParameterSpec& p) {
  return {.name = checkpoint::stored_name(kind, p.name), .dtype = DType::f32, .shape = p.global};
}

bool is_recipe_state(const checkpoint::StoredTensor& t) {
  return t.name.starts_with("float8/");
}

/// Names what is missing, in the way or of another shape, before anything is read.
void check_tensors(const std::vector<checkpoint::StoredTensor>& expected, const std::string& directory,
                   const checkpoint::Manifest& manifest, bool recipe_state) {
  std::map<std::string, const checkpoint::StoredTensor*> found;
  for (const checkpoint::StoredTensor& t : manifest.tensors) found[t.name] = &t;
  for (const checkpoint::StoredTensor& t : expected) {
    if (is_recipe_state(t) && !recipe_state) continue;
    const auto at = found.find(t.name);
    if (at == found.end()) throw usage_error("train", "{}: has no tensor {}, which the model needs", directory, t.name);
    if (at->second->shape != t.shape || at->second->dtype != t.dtype) {
      throw usage_error("train", "{}: tensor {} is {} {}, expected {} {}", directory, t.name,
                        name_of(at->second->dtype), at->second->shape.text(), name_of(t.dtype), t.shape.text());
    }
    found.erase(at);
  }
  if (!recipe_state) std::erase_if(found, [](const auto& entry) { return is_recipe_state(*entry.second); });
  if (found.empty()) return;
  throw usage_error("train", "{}: holds {}, which the model does not have", directory, found.begin()->first);
}

/// Whole tensors on every rank, small beside a kind of the model's.
void load_scaling(Float8Scaling& scaling, CheckpointSource& source, Stream& stream) {
  std::vector<Float8Scaling::State> state = scaling.state();
  std::vector<std::vector<char>> staging;
  std::vector<checkpoint::WantedPiece> wanted;
  for (const Float8Scaling::State& s : state) {
    staging.emplace_back(static_cast<std::size_t>(s.tensor.bytes()));
    wanted.push_back({.tensor = s.name,
                      .box = checkpoint::whole(s.tensor.shape),
                      .data = staging.back().data(),
                      .dtype = s.tensor.dtype});
  }
  source.read(wanted);
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Tensor& t = state[i].tensor;
    stream.device().copy_from_host(t.data, staging[i].data(), t.bytes(), stream);
  }
  scaling.state_loaded(stream);
}

/// The ranks that hold these pieces, one of each replica, share the work of saving them as the saver does. This is the
/// memory that the rank which saves the most of them keeps: its snapshot, and its lists of pieces.
std::int64_t saver_bytes(const std::vector<checkpoint::DevicePiece>& pieces_of_rank, const MeshShape& mesh,
                         bool in_groups) {
  std::vector<checkpoint::HeldPiece> held;
  held.reserve(pieces_of_rank.size());
  for (const checkpoint::DevicePiece& p : pieces_of_rank) {
    held.push_back({static_cast<std::int32_t>(held.size()), p.box, p.box.extent.elements() * size_of(p.tensor.dtype)});
  }
  std::int64_t most = 0;
  const std::vector<std::vector<checkpoint::HeldPiece>> replicas(static_cast<std::size_t>(mesh.dp_replicate), held);
  for (const std::vector<std::int32_t>& part : checkpoint::assign_writers(replicas)) {
    std::int64_t bytes = checkpoint::snapshot_offsets(pieces_of_rank, part).back();
    for (const std::int32_t i : part) {
      const checkpoint::StoredTensor& tensor = pieces_of_rank[static_cast<std::size_t>(i)].tensor;
      bytes += checkpoint::SaveShare::bytes_of_copy() + checkpoint::Snapshot::listed_bytes(tensor);
      if (in_groups) bytes += checkpoint::SaveShare::bytes_in_group(tensor);
    }
    most = std::max(most, bytes);
  }
  return most;
}

/// The memory of all ranks' plan on rank 0, as if every rank of a replica had as many pieces as this one; further
/// replicas add none.
std::int64_t plan_bytes(const std::vector<checkpoint::DevicePiece>& pieces_of_rank,
                        const std::vector<checkpoint::StoredTensor>& tensors, const MeshShape& mesh) {
  const std::int64_t ranks = std::int64_t{mesh.pp} * mesh.dp_shard * mesh.cp * mesh.tp;
  return checkpoint::SavePlan::host_bytes(ranks * std::ssize(pieces_of_rank), tensors);
}

}  // namespace

std::vector<checkpoint::StoredTensor> stored_tensors(const ParameterList& model, const Float8Scaling& scaling) {
  std::vector<checkpoint::StoredTensor> tensors;
  for (const TensorKind kind : checkpoint::tensor_kinds) {
    for (const ParameterSpec& p : model.parameters) tensors.push_back(stored(kind, p));
  }
  for (const Float8Scaling::State& s : scaling.state()) {
    tensors.push_back({.name = s.name, .dtype = s.tensor.dtype, .shape = s.tensor.shape});
  }
  return tensors;
}

std::vector<checkpoint::DevicePiece> held_pieces(ShardedModel& model) {
  std::vector<checkpoint::DevicePiece> pieces;
  for (const TensorKind kind : checkpoint::tensor_kinds) {
    const ShardedBuffer& buffer = buffer_of(model, kind);
    for (std::size_t i = 0; i < buffer.layout().size(); ++i) {
      const Shard& shard = buffer.layout().shard(i);
      if (shard.rows == 0) continue;
      pieces.push_back(
          {.tensor = stored(kind, model.parameters().parameters[i]), .box = box_of(shard), .data = buffer.data(i)});
    }
  }
  for (const Float8Scaling::State& s : model.scaling().state()) {
    pieces.push_back({.tensor = {.name = s.name, .dtype = s.tensor.dtype, .shape = s.tensor.shape},
                      .box = checkpoint::whole(s.tensor.shape),
                      .data = s.tensor.data});
  }
  return pieces;
}

std::int64_t checkpoint_host_bytes(ShardedModel& model, const RunConfig& config, const MeshShape& mesh, bool leads) {
  std::int64_t bytes = 0;
  if (saves(config.checkpoint)) {
    const std::vector<checkpoint::DevicePiece> pieces = held_pieces(model);
    bytes = saver_bytes(pieces, mesh, parse_writers(config.checkpoint.writers_per_node) != 0);
    if (leads) bytes += plan_bytes(pieces, stored_tensors(model.all_parameters(), model.scaling()), mesh);
  }
  if (config.checkpoint.resume == Resume::never && config.init.from.empty()) return bytes;
  const bool direct = config.device == DeviceType::cpu;  // see fill_pieces
  const std::int64_t staging = direct ? 0 : model.master().layout().bytes();
  return std::max(bytes, staging + checkpoint::read_buffer_bytes);
}

void load_state(ShardedModel& model, const std::string& directory, const checkpoint::Manifest& manifest, Stream& stream,
                bool same_recipe, Communicator* control) {
  Float8Scaling& scaling = model.scaling();
  const bool stored = std::ranges::any_of(manifest.tensors, is_recipe_state), wanted = !scaling.state().empty();
  const bool recipe_state = same_recipe && stored;
  check_tensors(stored_tensors(model.all_parameters(), scaling), directory, manifest, recipe_state);
  CheckpointSource source{directory, manifest, control};
  Staging staging(stream);
  for (const TensorKind kind : checkpoint::tensor_kinds)
    load_kind(model.parameters(), buffer_of(model, kind), kind, source, staging);
  scaling.reset(stream);
  if (recipe_state) load_scaling(scaling, source, stream);
  if (wanted && !recipe_state)
    log::info("float8: a new history of abs-maxes begins; the first step scales dynamically");
  if (stored && !recipe_state) log::info("float8: the history of abs-maxes in {} is not used", directory);
  model.weights_changed();
}

}  // namespace octet

#include "src/train/step/load_masters.h"

#include "checkpoints/format/finite.h"
#include "src/comm/agreement.h"
#include "src/comm/read_together.h"

namespace octet {
namespace {

/// "DIRECTORY: tensor NAME" of a parameter.
using PlaceOf = std::function<std::string(const std::string& parameter)>;

/// Each rank looks at what it has read; all end together. `control`: null where no other rank is to hear of it.
void expect_finite_pieces(std::span<const HostPiece> pieces, const PlaceOf& place_of, Communicator* control) {
  const auto look = [&] {
    for (const HostPiece& p : pieces) {
      checkpoint::expect_finite({p.data, static_cast<std::size_t>(p.box.extent.elements())}, place_of(p.parameter.name),
                                p.box, checkpoint::nothing_to_learn_from);
    }
  };
  if (control == nullptr) return look();
  together("checkpoints", "initial weights", *control, look);
}

}  // namespace

checkpoint::Box box_of(const Shard& shard) {
  checkpoint::Box box;
  box.offset[0] = shard.offset;
  box.offset[1] = shard.column;
  box.extent = shard.cut.with_rows(shard.rows);
  return box;
}

void fill_pieces(const ParameterList& list, const ShardedBuffer& buffer, Staging& staging,
                 const std::function<void(std::span<const HostPiece>)>& read) {
  const ShardLayout& layout = buffer.layout();
  Stream& stream = staging.stream();
  Device& device = stream.device();
  const bool direct = device.type() == DeviceType::cpu;  // device memory is the host's
  float* const staged = direct ? nullptr : staging.of(layout.elements());
  const auto place = [&](std::size_t i) { return direct ? buffer.data(i) : staged + layout.offset(i); };
  std::vector<HostPiece> pieces;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (layout.shard(i).rows == 0) continue;
    pieces.push_back({.parameter = list.parameters[i], .box = box_of(layout.shard(i)), .data = place(i)});
  }
  if (direct) stream.synchronize();
  read(pieces);
  for (std::size_t i = 0; i < layout.size() && !direct; ++i) {
    device.copy_from_host(buffer.data(i), place(i), layout.shard(i).elements() * 4, stream);
  }
  stream.synchronize();  // the next list takes the same memory
}

void CheckpointSource::read(const std::vector<checkpoint::WantedPiece>& wanted) {
  files::ReadProgress progress;
  const auto pieces = [&] {
    files::with_retries(progress, [&] { checkpoint::read_pieces(directory, manifest, wanted, shards, progress); });
  };
  if (control == nullptr) return pieces();
  const auto absent = files::read_together("read of a checkpoint's tensors", *control, progress, pieces);
  if (absent) throw usage_error("train", "{} any more", *absent);
}

void load_kind(const ParameterList& list, const ShardedBuffer& buffer, checkpoint::TensorKind kind,
               CheckpointSource& source, Staging& staging, Weights expected) {
  fill_pieces(list, buffer, staging, [&](std::span<const HostPiece> pieces) {
    std::vector<checkpoint::WantedPiece> wanted;
    wanted.reserve(pieces.size());
    for (const HostPiece& p : pieces) {
      wanted.push_back({.tensor = checkpoint::stored_name(kind, p.parameter.name), .box = p.box, .data = p.data});
    }
    source.read(wanted);
    if (expected == Weights::any) return;
    const auto place_of = [&](const std::string& parameter) {
      return fmt::format("{}: tensor {}/{}", source.directory, kind, parameter);
    };
    expect_finite_pieces(pieces, place_of, source.control);
  });
}

void load_masters(const ParameterList& list, const ShardedBuffer& master, CheckpointSource& source, Staging& staging,
                  Weights expected) {
  load_kind(list, master, checkpoint::TensorKind::master, source, staging, expected);
}

void load_masters(const ParameterList& list, const ShardedBuffer& master, const checkpoint::HuggingFaceModel& from,
                  Staging& staging, Communicator& control, Weights expected) {
  fill_pieces(list, master, staging, [&](std::span<const HostPiece> pieces) {
    files::ReadProgress progress;
    const auto read_all = [&] {
      for (const HostPiece& p : pieces) from.read_box(p.parameter.name, p.box, p.data, progress);
    };
    const auto absent = files::read_together("read of a Hugging Face folder", control, progress,
                                             [&] { files::with_retries(progress, read_all); });
    if (absent) throw usage_error("train", "{} any more", *absent);
    if (expected == Weights::any) return;
    expect_finite_pieces(
        pieces, [&](const std::string& parameter) { return from.place(parameter); }, &control);
  });
}

}  // namespace octet

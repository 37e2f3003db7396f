#include "checkpoints/restore/manifest_message.h"

#include <cstdint>

#include "checkpoints/format/messages.h"

namespace octet::checkpoint {
namespace {

void put_state(Packer& packer, const RunState& state) {
  packer.put(state.step, state.seed, state.data_fingerprint, state.loss, state.config, state.layout, state.program);
}
RunState take_state(Unpacker& unpacker) {
  RunState state;
  state.step = unpacker.take<std::int64_t>();
  state.seed = unpacker.take<std::uint64_t>();
  state.data_fingerprint = unpacker.take<std::uint64_t>();
  state.loss = unpacker.take<double>();
  state.config = unpacker.take_text();
  state.layout = unpacker.take_text();
  state.program = unpacker.take_text();
  return state;
}

void put_pieces(Packer& packer, const Manifest& manifest) {
  packer.put(std::ssize(manifest.pieces));
  for (const StoredPiece& piece : manifest.pieces) {
    packer.put(piece.tensor, piece.file);
    for (int d = 0; d < piece.box.extent.rank(); ++d) {
      packer.put(piece.box.offset[static_cast<std::size_t>(d)]);
    }
    put_extents(packer, piece.box.extent);
  }
}
void take_pieces(Unpacker& unpacker, Manifest& manifest) {
  manifest.pieces.resize(static_cast<std::size_t>(unpacker.take<std::ptrdiff_t>()));
  for (StoredPiece& piece : manifest.pieces) {
    piece.tensor = unpacker.take<std::int32_t>();
    piece.file = unpacker.take<std::int32_t>();
    const int rank = manifest.tensors[static_cast<std::size_t>(piece.tensor)].shape.rank();
    for (int d = 0; d < rank; ++d) piece.box.offset[static_cast<std::size_t>(d)] = unpacker.take<std::int64_t>();
    piece.box.extent = take_extents(unpacker, rank);
  }
}

}  // namespace

void put_manifest(Packer& packer, const Manifest& manifest) {
  packer.put(manifest.version);
  put_state(packer, manifest.state);
  packer.put(std::ssize(manifest.tensors));
  for (const StoredTensor& t : manifest.tensors) put(packer, t);
  put(packer, manifest.files);
  put_pieces(packer, manifest);
}

Manifest take_manifest(Unpacker& unpacker) {
  Manifest manifest;
  manifest.version = unpacker.take<int>();
  manifest.state = take_state(unpacker);
  manifest.tensors.resize(static_cast<std::size_t>(unpacker.take<std::ptrdiff_t>()));
  for (StoredTensor& t : manifest.tensors) t = take_tensor(unpacker);
  manifest.files = take_files(unpacker);
  take_pieces(unpacker, manifest);
  return manifest;
}

}  // namespace octet::checkpoint

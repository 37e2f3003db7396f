#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "checkpoints/format/format.h"
#include "checkpoints/format/manifest.h"
#include "checkpoints/format/shard_file.h"
#include "checkpoints/restore/resharding.h"
#include "checkpoints/save/assign_writers.h"
#include "src/tensor/shard.h"
#include "tests/checkpoints/directory.h"

namespace octet::checkpoint::test {

/// Tests of one process: the other ranks of the program sit them out.
class OneProcess : public testing::Test {
 protected:
  void SetUp() override {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) GTEST_SKIP() << "a test of one process";
  }
};

/// A tensor of a made-up model and the dimension that tensor parallelism splits, -1 for none.
struct ModelTensor {
  StoredTensor stored;
  int tp_dimension = -1;
};

/// Ranks that all live in this process, tp innermost.
struct VirtualLayout {
  int replicate = 1, shard = 1, tp = 1;
  int ranks() const { return replicate * shard * tp; }
};

/// What a rank has of a tensor.
struct VirtualPiece {
  std::int32_t tensor = 0;
  Box box;
  std::int64_t padded_rows = 0;  ///< rows in memory; those beyond the box are padding
};

/// The pieces of one rank as FSDP (over TP's part of a tensor) has them, empty ones too.
inline std::vector<VirtualPiece> pieces_of(const VirtualLayout& layout, int rank,
                                           const std::vector<ModelTensor>& model) {
  const int tp_rank = rank % layout.tp, shard_rank = rank / layout.tp % layout.shard;
  std::vector<VirtualPiece> pieces;
  for (std::size_t t = 0; t < model.size(); ++t) {
    const int split = model[t].tp_dimension;
    std::vector<std::int64_t> extent, offset;
    for (int i = 0; i < model[t].stored.shape.rank(); ++i) {
      const std::int64_t whole_extent = model[t].stored.shape[i];
      if (i == split && whole_extent % layout.tp != 0)
        throw std::runtime_error("tp does not divide " + model[t].stored.name);
      extent.push_back(i == split ? whole_extent / layout.tp : whole_extent);
      offset.push_back(i == split ? tp_rank * extent.back() : 0);
    }
    const Shard shard = Shard::of(make_shape(extent), shard_rank, layout.shard);
    VirtualPiece piece;
    piece.tensor = static_cast<std::int32_t>(t);
    std::copy(offset.begin(), offset.end(), piece.box.offset.begin());
    piece.box.offset[0] += shard.offset;
    piece.box.extent = shard.global.with_rows(shard.rows);
    piece.padded_rows = shard.padded_rows;
    pieces.push_back(piece);
  }
  return pieces;
}

/// Bytes that no other element of any tensor is likely to have.
inline std::uint64_t bits_of(std::int64_t tensor, std::int64_t element) {
  std::uint64_t x = static_cast<std::uint64_t>(tensor) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(element) + 1;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// The bytes of a rectangle of tensor `t`, element by element from their global index.
inline std::vector<char> content_of(std::int64_t t, const StoredTensor& tensor, const Box& box) {
  const auto bytes = static_cast<std::size_t>(size_of(tensor.dtype));
  std::vector<char> content(static_cast<std::size_t>(box.extent.elements()) * bytes);
  for (std::int64_t i = 0; i < box.extent.elements(); ++i) {
    std::int64_t rest = i, global = 0, stride = 1;
    for (int d = box.extent.rank() - 1; d >= 0; --d) {
      global += (box.offset[static_cast<std::size_t>(d)] + rest % box.extent[d]) * stride;
      rest /= box.extent[d];
      stride *= tensor.shape[d];
    }
    const std::uint64_t bits = bits_of(t, global);
    std::memcpy(content.data() + static_cast<std::size_t>(i) * bytes, &bits, bytes);
  }
  return content;
}

inline RunState some_state(std::int64_t step = 12) {
  return {step, 0xFFFFFFFFFFFFFFFEu, 0x8000000000000001u, 2.718281828459045, "model: tiny\nname: \"ä\"\n", "made up",
          "0.1"};
}

/// Writes what the ranks of `layout` hold as a checkpoint, every rank with something to write a file.
inline Manifest save(const std::string& directory, const VirtualLayout& layout, const std::vector<ModelTensor>& model) {
  std::filesystem::create_directory(directory);
  std::vector<std::vector<HeldPiece>> held;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    auto& mine = held.emplace_back();
    for (const VirtualPiece& piece : pieces_of(layout, rank, model)) {
      const auto& stored = model[static_cast<std::size_t>(piece.tensor)].stored;
      mine.push_back({piece.tensor, piece.box, piece.box.extent.elements() * size_of(stored.dtype)});
    }
  }
  Manifest manifest;
  manifest.state = some_state();
  for (const ModelTensor& tensor : model) manifest.tensors.push_back(tensor.stored);
  const auto writes = assign_writers(held);
  for (std::size_t rank = 0; rank < writes.size(); ++rank) {
    if (writes[rank].empty()) continue;
    std::vector<std::vector<char>> data;
    std::vector<PieceData> pieces;
    for (const std::int32_t i : writes[rank]) {
      const HeldPiece& piece = held[rank][static_cast<std::size_t>(i)];
      const StoredTensor& stored = model[static_cast<std::size_t>(piece.tensor)].stored;
      data.push_back(content_of(piece.tensor, stored, piece.box));
      pieces.push_back({stored, piece.box, data.back().data()});
      manifest.pieces.push_back({piece.tensor, static_cast<std::int32_t>(manifest.files.size()), piece.box});
    }
    const std::string path = directory + "/" + file_name(static_cast<int>(rank));
    manifest.files.push_back(write_shard_file(path, manifest.state, pieces));
  }
  put_file(directory + "/" + manifest_name, to_json(manifest));
  return read_manifest(directory);
}

/// Loads the checkpoint as each rank of `layout` in turn; every element is compared, and padding is not touched.
/// Returns the elements compared.
inline std::int64_t expect_loads(const std::string& directory, const Manifest& manifest, const VirtualLayout& layout,
                                 const std::vector<ModelTensor>& model) {
  std::int64_t compared = 0;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    std::vector<std::vector<char>> memory, expected;
    std::vector<WantedPiece> wanted;
    for (const VirtualPiece& piece : pieces_of(layout, rank, model)) {
      if (piece.box.extent.elements() == 0) continue;
      const StoredTensor& stored = model[static_cast<std::size_t>(piece.tensor)].stored;
      const std::int64_t padded = piece.padded_rows * piece.box.extent.row_elements() * size_of(stored.dtype);
      memory.emplace_back(static_cast<std::size_t>(padded), '\x5a');
      expected.push_back(content_of(piece.tensor, stored, piece.box));
      compared += piece.box.extent.elements();
      expected.back().resize(memory.back().size(), '\x5a');
      wanted.push_back({stored.name, piece.box, memory.back().data(), stored.dtype, stored.shape});
    }
    read_pieces(directory, manifest, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_TRUE(memory[i] == expected[i])
          << "rank " << rank << ", " << wanted[i].tensor << " " << text(wanted[i].box);
    }
  }
  return compared;
}

}  // namespace octet::checkpoint::test

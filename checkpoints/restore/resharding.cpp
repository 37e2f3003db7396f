#include "checkpoints/restore/resharding.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <unordered_map>

#include "checkpoints/format/format.h"
#include "checkpoints/format/shard_file.h"

namespace octet::checkpoint {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

void check_wanted(const WantedPiece& wanted, const StoredTensor& stored) {
  if (wanted.dtype != stored.dtype) {
    throw usage_error("checkpoints", "tensor {} is {} in the checkpoint, expected {}", stored.name,
                      name_of(stored.dtype), name_of(wanted.dtype));
  }
  if (wanted.shape.rank() != 0 && !(wanted.shape == stored.shape)) {
    throw usage_error("checkpoints", "tensor {} has shape {} in the checkpoint, expected {}", stored.name,
                      stored.shape.text(), wanted.shape.text());
  }
  if (!lies_in(wanted.box, stored.shape)) {
    throw usage_error("checkpoints", "{} of tensor {} is empty or not in its shape {}", text(wanted.box), stored.name,
                      stored.shape.text());
  }
}

/// Tensors that somebody wants, and their pieces.
class PieceIndex {
 public:
  PieceIndex(const Manifest& manifest, std::span<const WantedPiece> wanted) : manifest_(manifest) {
    for (std::size_t t = 0; t < manifest.tensors.size(); ++t) by_name_[manifest.tensors[t].name] = t;
    std::vector<bool> is_wanted(manifest.tensors.size(), false);
    for (const WantedPiece& piece : wanted) is_wanted[find(piece)] = true;
    pieces_.resize(manifest.tensors.size());
    for (std::size_t p = 0; p < manifest.pieces.size(); ++p) {
      const std::size_t tensor = index(manifest.pieces[p].tensor);
      if (is_wanted[tensor]) pieces_[tensor].push_back(static_cast<std::int32_t>(p));
    }
  }

  std::size_t find(const WantedPiece& wanted) const {
    const auto found = by_name_.find(wanted.tensor);
    if (found == by_name_.end()) {
      throw usage_error("checkpoints", "tensor {} is not in the checkpoint, which has {} tensors", wanted.tensor,
                        manifest_.tensors.size());
    }
    return found->second;
  }

  const std::vector<std::int32_t>& pieces(std::size_t tensor) const { return pieces_[tensor]; }

 private:
  const Manifest& manifest_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::vector<std::vector<std::int32_t>> pieces_;
};

/// The slabs of `step`, each dense in the destination or small enough for a buffer.
template <typename Function>
void for_each_slab(const ReadStep& step, std::int64_t row_bytes, const Function& each) {
  const std::int64_t rows = std::max<std::int64_t>(1, read_buffer_bytes / row_bytes);
  for (std::int64_t row = 0; row < step.in_piece.extent[0]; row += rows) {
    ReadStep slab = step;
    slab.in_piece.extent = step.in_piece.extent.with_rows(std::min(rows, step.in_piece.extent[0] - row));
    slab.in_wanted.extent = slab.in_piece.extent;
    slab.in_piece.offset[0] += row;
    slab.in_wanted.offset[0] += row;
    each(slab);
  }
}

/// Copies dense `from` to the rectangle `part` of an array of `extent` at `to`.
void scatter(const char* from, char* to, const Box& part, const Shape& extent, std::int64_t element_bytes) {
  // As four dimensions, the outer ones of one index where there are fewer.
  std::array<std::int64_t, Shape::max_rank> size{}, begin{}, count{};
  for (std::size_t i = 0, unused = size.size() - static_cast<std::size_t>(extent.rank()); i < size.size(); ++i) {
    const bool used = i >= unused;
    const int dim = used ? static_cast<int>(i - unused) : 0;
    size[i] = used ? extent[dim] : 1;
    begin[i] = used ? part.offset[i - unused] : 0;
    count[i] = used ? part.extent[dim] : 1;
  }
  const auto run = static_cast<std::size_t>(count[3] * element_bytes);
  for (std::int64_t i = begin[0]; i < begin[0] + count[0]; ++i) {
    for (std::int64_t j = begin[1]; j < begin[1] + count[1]; ++j) {
      for (std::int64_t k = begin[2]; k < begin[2] + count[2]; ++k, from += run) {
        std::memcpy(to + (((i * size[1] + j) * size[2] + k) * size[3] + begin[3]) * element_bytes, from, run);
      }
    }
  }
}

void execute(const ShardReader& reader, const Manifest& manifest, const WantedPiece& wanted, const ReadStep& step,
             std::vector<char>& buffer) {
  const StoredPiece& piece = manifest.pieces[index(step.piece)];
  const StoredTensor& tensor = manifest.tensors[index(piece.tensor)];
  const std::int64_t bytes = size_of(wanted.dtype);
  const Shape& extent = wanted.box.extent;
  auto* to = static_cast<char*>(wanted.data);
  if (is_contiguous(step.in_wanted, extent)) {
    reader.read(piece, tensor, step.in_piece, to + first_element(step.in_wanted, extent) * bytes);
    return;
  }
  for_each_slab(step, step.in_piece.extent.row_elements() * bytes, [&](const ReadStep& slab) {
    buffer.resize(static_cast<std::size_t>(slab.in_piece.extent.elements() * bytes));
    reader.read(piece, tensor, slab.in_piece, buffer.data());
    scatter(buffer.data(), to, slab.in_wanted, extent, bytes);
  });
}

}  // namespace

std::vector<ReadStep> plan_reads(const Manifest& manifest, std::span<const WantedPiece> wanted) {
  const PieceIndex pieces(manifest, wanted);
  std::vector<ReadStep> steps;
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    const std::size_t tensor = pieces.find(wanted[w]);
    check_wanted(wanted[w], manifest.tensors[tensor]);
    std::int64_t elements = 0;
    for (const std::int32_t p : pieces.pieces(tensor)) {
      const Box& piece = manifest.pieces[index(p)].box;
      const auto common = intersection(piece, wanted[w].box);
      if (!common) continue;
      elements += common->extent.elements();
      steps.push_back(
          {p, static_cast<std::int32_t>(w), relative_to(*common, piece), relative_to(*common, wanted[w].box)});
    }
    if (elements == wanted[w].box.extent.elements()) continue;
    throw usage_error("checkpoints", "the checkpoint's pieces have {} elements of {} of tensor {}, expected {}",
                      elements, text(wanted[w].box), wanted[w].tensor, wanted[w].box.extent.elements());
  }
  std::ranges::sort(steps, {}, [&](const ReadStep& s) {
    return std::tuple(manifest.pieces[index(s.piece)].file, s.piece, s.wanted);
  });
  return steps;
}

void read_pieces(const std::string& checkpoint_directory, const Manifest& manifest,
                 std::span<const WantedPiece> wanted) {
  OpenShards shards;
  files::ReadProgress nobody_waits;
  read_pieces(checkpoint_directory, manifest, wanted, shards, nobody_waits);
}

void read_pieces(const std::string& checkpoint_directory, const Manifest& manifest, std::span<const WantedPiece> wanted,
                 OpenShards& shards, files::ReadProgress& progress) {
  const ShardReader* reader = nullptr;
  std::int32_t open = -1;
  std::vector<char> buffer;
  for (const ReadStep& step : plan_reads(manifest, wanted)) {
    const StoredPiece& piece = manifest.pieces[index(step.piece)];
    const std::string path = checkpoint_directory + "/" + manifest.files[index(piece.file)].name;
    try {
      if (piece.file != open) {
        progress.begin(path);
        reader = &shards.open(path);
        open = piece.file;
      }
      execute(*reader, manifest, wanted[index(step.wanted)], step, buffer);
    } catch (const files::ReadError&) {
      shards.close_all();
      throw;
    } catch (const Error& error) {
      shards.close_all();
      if (error.code() != ExitCode::internal) throw;
      throw files::ReadError(path, error.what());
    }
    progress.add(step.in_piece.extent.elements() * size_of(wanted[index(step.wanted)].dtype));
  }
}

}  // namespace octet::checkpoint

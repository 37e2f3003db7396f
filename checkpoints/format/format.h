#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "checkpoints/format/names.h"
#include "src/tensor/tensor.h"

namespace octet::checkpoint {

/// Name and version of the format, docs/checkpoint-format.md. Readers refuse what they do not know.
inline constexpr const char* format_name = "octet-checkpoint";
inline constexpr int format_version = 1;
/// Of a checkpoint that has other files than those of tensors, which a reader of version 1 would take for damaged.
inline constexpr int format_version_with_files = 2;

/// A rectangle of a global tensor: elements [offset, offset + extent) of each dimension.
struct Box {
  std::array<std::int64_t, Shape::max_rank> offset{};
  Shape extent;

  bool operator==(const Box&) const = default;
};

/// A global tensor: what a checkpoint is made of, whatever the layout that wrote it. One of each TensorKind for every
/// parameter, called stored_name.
struct StoredTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;

  bool operator==(const StoredTensor&) const = default;
};

/// A piece of a tensor and where it is stored: in `file`, under the name that dataset_name derives, contiguous and
/// row-major.
struct StoredPiece {
  std::int32_t tensor = 0;  ///< index into Manifest::tensors
  std::int32_t file = 0;    ///< index into Manifest::files
  Box box;

  bool operator==(const StoredPiece&) const = default;
};

/// A piece with its data, on its way to a file. The memory is the host's and stays valid until it is written.
struct PieceData {
  StoredTensor tensor;
  Box box;
  const void* data = nullptr;  ///< box.extent elements, row-major
  /// Where `data` is null: called when the piece's turn comes. What it returns has to stay valid until the next piece
  /// is asked for its own.
  std::function<const void*()> load = nullptr;
};

/// The state of a run that is not in tensors.
struct RunState {
  std::int64_t step = 0;  ///< finished steps; the next one's data follow from it and the seed
  std::uint64_t seed = 0;
  std::uint64_t data_fingerprint = 0;  ///< Sampler::fingerprint: another value means other data
  double loss = 0;                     ///< of that step, for people
  std::string config;                  ///< resolved YAML
  std::string layout;                  ///< "dp_replicate 2 x dp_shard 4", for people
  std::string program;                 ///< version that wrote it

  bool operator==(const RunState&) const = default;
};

/// The dataset of a piece, "TENSOR/@128,0" with the box's offset: the only one of its file that is read for it.
std::string dataset_name(const std::string& tensor, const Box& box);

/// What a rank owns of the run's tensors: pieces on the device (or the host) that snapshot() copies.
struct DevicePiece {
  StoredTensor tensor;
  Box box;
  const void* data = nullptr;  ///< device memory
};

/// A file that lies in a checkpoint as it is, beside those of tensors.
struct PlainFile {
  std::string name;
  std::string bytes;

  bool operator==(const PlainFile&) const = default;
};

/// A file of a checkpoint with its size and the XXH3-128 of its bytes, 32 hexadecimal digits.
struct StoredFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string hash;

  bool operator==(const StoredFile&) const = default;
};

/// A shape of 1 to 4 extents known at run time. Throws an internal error for another number.
Shape make_shape(std::span<const std::int64_t> extents);

/// All of a tensor.
Box whole(const Shape& shape);

/// Says whether offset and extent are those of a rectangle with at least one element that lies in `shape`.
bool lies_in(const Box& box, const Shape& shape);

/// The common rectangle of two boxes of the same tensor; nothing when it is empty.
std::optional<Box> intersection(const Box& a, const Box& b);

/// `box` in the coordinates of `frame`, which contains it.
Box relative_to(const Box& box, const Box& frame);

/// Says whether the elements of `part` (relative to an array of `extent`) lie side by side in row-major order.
bool is_contiguous(const Box& part, const Shape& extent);

/// Row-major index of the first element of `part` in an array of `extent`.
std::int64_t first_element(const Box& part, const Shape& extent);

/// "[128, 0] + [64, 512]": offset and extent.
std::string text(const Box& box);

}  // namespace octet::checkpoint

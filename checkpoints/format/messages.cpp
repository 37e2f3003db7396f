#include "checkpoints/format/messages.h"

#include <array>
#include <cstdint>
#include <span>

#include "src/base/error.h"

namespace octet::checkpoint {

void put_extents(Packer& packer, const Shape& shape) {
  for (int d = 0; d < shape.rank(); ++d) packer.put(shape[d]);
}

Shape take_extents(Unpacker& unpacker, int rank) {
  if (rank == 0) return {};
  if (rank > Shape::max_rank) {
    throw internal_error("checkpoints", "a message between ranks has a tensor of {} dimensions, expected at most {}",
                         rank, Shape::max_rank);
  }
  std::array<std::int64_t, Shape::max_rank> extents{};
  for (int d = 0; d < rank; ++d) extents.at(static_cast<std::size_t>(d)) = unpacker.take<std::int64_t>();
  return make_shape(std::span(extents).first(static_cast<std::size_t>(rank)));
}

void put(Packer& packer, const Shape& shape) {
  packer.put(static_cast<std::uint8_t>(shape.rank()));
  put_extents(packer, shape);
}

Shape take_shape(Unpacker& unpacker) {
  return take_extents(unpacker, unpacker.take<std::uint8_t>());
}

void put(Packer& packer, const StoredTensor& tensor) {
  packer.put(tensor.name, tensor.dtype);
  put(packer, tensor.shape);
}

StoredTensor take_tensor(Unpacker& unpacker) {
  StoredTensor tensor;
  tensor.name = unpacker.take_text();
  tensor.dtype = unpacker.take<DType>();
  tensor.shape = take_shape(unpacker);
  return tensor;
}

void put(Packer& packer, const StoredFile& file) {
  packer.put(file.name, file.bytes, file.hash);
}

StoredFile take_file(Unpacker& unpacker) {
  StoredFile file;
  file.name = unpacker.take_text();
  file.bytes = unpacker.take<std::int64_t>();
  file.hash = unpacker.take_text();
  return file;
}

void put(Packer& packer, const std::vector<StoredFile>& files) {
  packer.put(std::ssize(files));
  for (const StoredFile& file : files) put(packer, file);
}

std::vector<StoredFile> take_files(Unpacker& unpacker) {
  std::vector<StoredFile> files(static_cast<std::size_t>(unpacker.take<std::ptrdiff_t>()));
  for (StoredFile& file : files) file = take_file(unpacker);
  return files;
}

}  // namespace octet::checkpoint

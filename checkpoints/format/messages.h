#pragma once

#include <vector>

#include "checkpoints/format/format.h"
#include "src/comm/packing.h"

namespace octet::checkpoint {

// What ranks tell each other of checkpoints: put into a message, and taken out of it in the same order.

void put(Packer& packer, const Shape& shape);
void put(Packer& packer, const StoredTensor& tensor);
void put(Packer& packer, const StoredFile& file);
void put(Packer& packer, const std::vector<StoredFile>& files);

Shape take_shape(Unpacker& unpacker);
StoredTensor take_tensor(Unpacker& unpacker);
StoredFile take_file(Unpacker& unpacker);
std::vector<StoredFile> take_files(Unpacker& unpacker);

/// The extents alone, where both sides know how many: a manifest can have millions of pieces.
void put_extents(Packer& packer, const Shape& shape);
Shape take_extents(Unpacker& unpacker, int rank);

}  // namespace octet::checkpoint

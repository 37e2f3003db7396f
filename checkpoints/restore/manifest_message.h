#pragma once

#include "checkpoints/format/manifest.h"
#include "src/comm/packing.h"

namespace octet::checkpoint {

// A manifest as one rank that has read and checked it tells it to the others: as it lies in memory and not as text,
// which each of them would have to parse and to check again. With the 1.5 million pieces of 405B on 512 ranks that is
// 0.1 s and 165 MiB instead of 2.5 s and 560 MiB.

void put_manifest(Packer& packer, const Manifest& manifest);
Manifest take_manifest(Unpacker& unpacker);

}  // namespace octet::checkpoint

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/mesh.h"
#include "src/parallel/sharded_parameters.h"

namespace octet {

/// Hashes of one rank's fp32 master pieces by the parameter's id (XXH3-64 of its elements without padding); 0 of one
/// that the rank's list does not hold.
using ShardHashes = std::vector<std::uint64_t>;

ShardHashes hash_shards(const ParameterList& held, const ShardedBuffer& master, Device& device, Stream& stream);

/// What one rank has to say when replicas differ.
struct ReplicaReport {
  std::string node;
  ShardHashes hashes;
};

/// Which of the ranks (index: rank in the world) hold other weights than the ranks with the same piece, those of the
/// other replicas and, of what tensor parallelism does not cut, of the tp group, and of a tied embedding of both ends
/// of a pipeline: where more than half of those agree, the rest is named, else all of them. With the first parameter,
/// in the model's order, that differs anywhere. None when all are equal.
std::optional<std::string> describe_difference(const MeshShape& shape, const ParameterList& model,
                                               const std::vector<ReplicaReport>& ranks);

/// Compares the master weights that several ranks hold, copied to the host in pieces: 24 bytes of each rank are
/// exchanged, everything else only when they differ. None when they are equal, else describe_difference(), the same
/// text on every rank. `model` is the whole model's list, `held` this rank's, and `node` its node. Collective over
/// `control` (src/comm/control_exchange.h).
std::optional<std::string> find_replica_difference(const ParameterList& model, const ParameterList& held,
                                                   const ShardedBuffer& master, const MeshShape& shape,
                                                   Communicator& control, Stream& stream, const std::string& node);

}  // namespace octet

#pragma once

#include <cstdint>
#include <vector>

#include "src/ops/context.h"
#include "src/ops/produced.h"
#include "src/ops/row_documents.h"
#include "src/tensor/tensor.h"

namespace octet {

/// cos and sin [seq, head_dim / 2] of the rotary embedding, computed in double on the host from the radians by which
/// each pair of a head turns from one position to the next.
struct RopeTable {
  RopeTable(Device& device, Stream& stream, std::int64_t seq, const std::vector<double>& frequencies);
  TensorBuffer cos, sin;
};

/// Queries and keys are turned forth by their positions, and their gradients back.
enum class Rotation { forth, back };

/// Turns q.x [batch · seq, heads · head_dim] and k.x [batch · seq, kv_heads · head_dim], in one dtype, by positions
/// that begin with each document: in place, or into the float8 form alone. What has no data is left alone.
void rope(OpContext& op, const RopeTable& table, const Produced& q, const Produced& k, std::int64_t batch,
          RowDocuments documents, Rotation turn);

}  // namespace octet

#include "kernels/cuda/attention/document_offsets.h"
#include "kernels/cuda/host/launch.h"
#include "src/base/round_up.h"

namespace octet::cuda {
namespace {

constexpr int threads = 256;

__global__ void __launch_bounds__(threads)
    offsets_of(const std::int32_t* starts, std::int64_t places, std::int64_t query_row, std::int64_t key_row,
               std::int64_t sum_row, std::int64_t* queries, std::int64_t* keys, std::int64_t* sums,
               std::int32_t* lengths) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i > places) return;
  const std::int64_t start = starts[i];
  queries[i] = start * query_row;
  keys[i] = start * key_row;
  sums[i] = start * sum_row;
  if (i < places) lengths[i] = starts[i + 1] - starts[i];
}

}  // namespace

DocumentOffsets::DocumentOffsets(void* place, const AttentionShape& shape, const PackedDocuments& documents)
    : shape_(shape),
      documents_(documents),
      queries_(static_cast<std::int64_t*>(place)),
      keys_(queries_ + documents.places + 1),
      sums_(keys_ + documents.places + 1),
      lengths_(reinterpret_cast<std::int32_t*>(sums_ + documents.places + 1)) {}

std::int64_t DocumentOffsets::bytes(std::int64_t places) {
  return round_up(3 * 8 * (places + 1) + 4 * places, 256);
}

void DocumentOffsets::make(Stream& stream) const {
  const auto blocks = static_cast<unsigned>(ceil_div(documents_.places + 1, threads));
  offsets_of<<<blocks, threads, 0, native(stream)>>>(documents_.starts, documents_.places,
                                                     shape_.heads * shape_.head_dim, shape_.kv_heads * shape_.head_dim,
                                                     shape_.heads, queries_, keys_, sums_, lengths_);
  check_launch("attention: offsets of documents");
}

}  // namespace octet::cuda

#include "src/comm/communicator.h"

namespace octet {

void Communicator::all_reduce_to(const void* send, void* recv, std::int64_t count, DType dtype, ReduceOp op) {
  stream().device().copy(recv, send, count * size_of(dtype), stream());
  all_reduce(recv, count, dtype, op);
}

void Communicator::broadcast_to(const void* send, void* recv, std::int64_t count, DType dtype, int root) {
  if (rank() == root) stream().device().copy(recv, send, count * size_of(dtype), stream());
  broadcast(recv, count, dtype, root);
}

}  // namespace octet

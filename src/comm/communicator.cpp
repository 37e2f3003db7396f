#include "src/comm/communicator.h"

#include "src/base/error.h"
#include "src/comm/call_group.h"

namespace octet {
namespace {

/// A call of a stream.
class StreamTransfer final : public Transfer {
 public:
  explicit StreamTransfer(Stream& stream) : over_(stream.device().make_event()) { stream.record(*over_); }
  void wait(Stream& stream) override { stream.wait(*over_); }

 private:
  std::unique_ptr<Event> over_;
};

void check_no_group(const char* call, const std::string& name) {
  if (CallGroup::open()) throw internal_error("comm", "{} of group {} within a group of calls", call, name);
}

}  // namespace

std::unique_ptr<Transfer> Communicator::start_send(const void* data, std::int64_t count, DType dtype, int to) {
  check_no_group("start_send", name());
  send(data, count, dtype, to);
  return std::make_unique<StreamTransfer>(stream());
}

std::unique_ptr<Transfer> Communicator::start_recv(void* data, std::int64_t count, DType dtype, int from) {
  check_no_group("start_recv", name());
  recv(data, count, dtype, from);
  return std::make_unique<StreamTransfer>(stream());
}

void Communicator::all_reduce_to(const void* send, void* recv, std::int64_t count, DType dtype, ReduceOp op) {
  stream().device().copy(recv, send, count * size_of(dtype), stream());
  all_reduce(recv, count, dtype, op);
}

void Communicator::broadcast_to(const void* send, void* recv, std::int64_t count, DType dtype, int root) {
  if (rank() == root) stream().device().copy(recv, send, count * size_of(dtype), stream());
  broadcast(recv, count, dtype, root);
}

}  // namespace octet

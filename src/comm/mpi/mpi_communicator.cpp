#include "src/comm/mpi/mpi_communicator.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/hosts.h"
#include "src/comm/call_group.h"
#include "src/comm/checked_arguments.h"
#include "src/comm/mpi/host_reductions.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/mpi/rank_order_sums.h"
#include "src/comm/operation.h"
#include "src/comm/rank_order.h"

namespace octet {
namespace {

/// MPI's counts are ints.
constexpr std::int64_t most_elements = 1 << 30;

char* at(void* p, std::int64_t bytes) {
  return static_cast<char*>(p) + bytes;
}

MpiPeers peers_of(MPI_Comm comm) {
  MpiPeers peers{comm};
  check_mpi(MPI_Comm_rank(comm, &peers.rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm, &peers.size), "MPI_Comm_size");
  return peers;
}

class MpiCommunicator final : public Communicator, private GroupMember {
 public:
  MpiCommunicator(Stream& stream, std::string name, MpiComm comm)
      : MpiCommunicator(stream, std::move(name), std::make_shared<const MpiComm>(std::move(comm))) {
    check_mpi(MPI_Comm_set_errhandler(mpi(), MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  /// Over a communicator that others use too.
  MpiCommunicator(Stream& stream, std::string name, std::shared_ptr<const MpiComm> comm)
      : stream_(stream),
        name_(std::move(name)),
        comm_(std::move(comm)),
        peers_(peers_of(comm_->get())),
        sums_(stream.device(), peers_) {}

  int rank() const override { return peers_.rank; }
  int size() const override { return peers_.size; }
  const std::string& name() const override { return name_; }
  Stream& stream() const override { return stream_; }

  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    check_count("all_gather", name_, count);
    const std::int64_t bytes = count * size_of(dtype);
    const OperationScope operation("all_gather", name_, peers_.size * bytes);
    run(operation, [=, this] { pending_.push_back(peers_.post_all_gather(send, recv, bytes)); });
  }

  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    check_count("reduce_scatter", name_, count);
    const OperationScope operation("reduce_scatter", name_, peers_.size * count * size_of(DType::f32));
    run(operation, [=, this] { sums_.add(send, recv, count); });
  }

  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    check_count("all_reduce", name_, count);
    check_reducible(name_, dtype);
    if (peers_.size == 1 || count == 0) return;
    const OperationScope operation(op == ReduceOp::sum ? "all_reduce (sum)" : "all_reduce (max)", name_,
                                   count * size_of(dtype));
    run(operation, [=, this] {
      if (is_exact(dtype, op)) return start_exact(data, count, dtype, op);
      // Runs to its end here, also when a group starts its calls, where others are only posted.
      sums_.all_reduce(static_cast<float*>(data), count,
                       OperationScope("all_reduce (sum)", name_, count * size_of(dtype)));
    });
  }

  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) override {
    check_count("all_to_all", name_, count);
    const std::int64_t bytes = count * size_of(dtype);
    const OperationScope operation("all_to_all", name_, peers_.size * bytes);
    run(operation, [=, this] {
      const MpiBytes part(bytes);
      check_mpi(MPI_Ialltoall(send, part.count(), part.type(), recv, part.count(), part.type(), mpi(), post()),
                "MPI_Ialltoall");
    });
  }

  void broadcast(void* data, std::int64_t count, DType dtype, int root) override {
    check_count("broadcast", name_, count);
    check_peer("broadcast", name_, root, peers_.size);
    const OperationScope operation("broadcast", name_, count * size_of(dtype));
    run(operation, [=, this] {
      const MpiBytes all(count * size_of(dtype));
      check_mpi(MPI_Ibcast(data, all.count(), all.type(), root, mpi(), post()), "MPI_Ibcast");
    });
  }

  void send(const void* data, std::int64_t count, DType dtype, int to) override {
    check_transfer("send", count, to);
    const OperationScope operation("send", name_, count * size_of(dtype));
    run(operation, [=, this] { peers_.post_send(data, count * size_of(dtype), to, MpiTag::transfer, post()); });
  }

  void recv(void* data, std::int64_t count, DType dtype, int from) override {
    check_transfer("recv", count, from);
    const OperationScope operation("recv", name_, count * size_of(dtype));
    run(operation, [=, this] { peers_.post_recv(data, count * size_of(dtype), from, MpiTag::transfer, post()); });
  }

  std::unique_ptr<Transfer> start_send(const void* data, std::int64_t count, DType dtype, int to) override {
    check_start("send", count, to);
    auto transfer = std::make_unique<MpiTransfer>("send", name_, count * size_of(dtype));
    peers_.post_send(data, count * size_of(dtype), to, MpiTag::transfer, transfer->post());
    return transfer;
  }

  std::unique_ptr<Transfer> start_recv(void* data, std::int64_t count, DType dtype, int from) override {
    check_start("recv", count, from);
    auto transfer = std::make_unique<MpiTransfer>("recv", name_, count * size_of(dtype));
    peers_.post_recv(data, count * size_of(dtype), from, MpiTag::transfer, transfer->post());
    return transfer;
  }

  void barrier() override {
    const OperationScope operation("barrier", name_);
    MpiRequests request(1, MPI_REQUEST_NULL);
    check_mpi(MPI_Ibarrier(mpi(), request.data()), "MPI_Ibarrier");
    wait_all(request, operation);
  }

  void group_begin() override { group_.begin(); }
  void group_end() override { group_.end(name_); }

  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    refuse_in_group("split");
    if (color < 0) throw internal_error("comm", "split of group {} with colour {}", name_, color);
    const OperationScope operation("split", name_);
    return std::make_unique<MpiCommunicator>(stream_, std::move(name), octet::split(peers_, color, key, operation));
  }

  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    refuse_in_group("split");
    const OperationScope operation("split_by_node", name_);
    const NodeName mine = sendable(node_name(host_name(), [](const char* n) { return std::getenv(n); }));
    std::vector<NodeName> names(static_cast<std::size_t>(peers_.size));
    peers_.all_gather(mine.data(), names.data(), sizeof mine, operation);
    const int color = first_rank_of_node(names, peers_.rank);
    return std::make_unique<MpiCommunicator>(stream_, std::move(name),
                                             octet::split(peers_, color, peers_.rank, operation));
  }

  std::unique_ptr<Communicator> alias(std::string name) override {
    return std::make_unique<MpiCommunicator>(stream_, std::move(name), comm_);
  }

  std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) override {
    refuse_in_group("on_stream");
    const OperationScope operation("on_stream", name_);
    return std::make_unique<MpiCommunicator>(stream, std::move(name), duplicate(mpi(), operation));
  }

  [[noreturn]] void abort(int exit_code) override { abort_job(exit_code); }

 private:
  MPI_Comm mpi() const { return comm_->get(); }

  /// Place for the request of a call that is about to be posted.
  MPI_Request* post() { return &pending_.emplace_back(MPI_REQUEST_NULL); }

  /// `post` begins a call: now, or when the outermost group ends.
  template <typename Post>
  void run(const OperationScope& operation, const Post& post) {
    if (!CallGroup::open()) {
      post();
      return complete(operation);
    }
    group_.join();
    noted_.emplace_back(post);
    grouped_ = operation.name();
    grouped_bytes_ += operation.bytes();
  }
  void start() override {
    const OperationScope operation(grouped_, name_, grouped_bytes_);
    for (const auto& post : std::exchange(noted_, {})) post();
  }
  void finish() override {
    const OperationScope operation(grouped_, name_, std::exchange(grouped_bytes_, 0));
    complete(operation);
  }
  void complete(const OperationScope& operation) {
    sums_.run(operation);
    wait_all(pending_, operation);
  }

  void refuse_in_group(const char* call) const {
    if (CallGroup::open())
      throw internal_error("comm", "{} of group {} between group_begin and group_end", call, name_);
  }

  void check_transfer(const char* operation, std::int64_t count, int peer) const {
    check_count(operation, name_, count);
    check_peer(operation, name_, peer, peers_.size);
    if (peer == peers_.rank && !CallGroup::open()) {
      throw internal_error("comm", "{} with oneself outside group_begin/end never ends", operation);
    }
  }

  void check_start(const char* operation, std::int64_t count, int peer) const {
    check_count(operation, name_, count);
    check_peer(operation, name_, peer, peers_.size);
    if (CallGroup::open())
      throw internal_error("comm", "start_{} of group {} within a group of calls", operation, name_);
  }

  /// In whatever order MPI likes.
  void start_exact(void* data, std::int64_t count, DType dtype, ReduceOp op) {
    const ExactReduction reduction = exact_reduction(dtype, op);
    for (std::int64_t begin = 0; begin < count; begin += most_elements) {
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, at(data, begin * size_of(dtype)),
                               static_cast<int>(std::min(most_elements, count - begin)), reduction.type, reduction.op,
                               mpi(), post()),
                "MPI_Iallreduce");
    }
  }

  Stream& stream_;
  std::string name_;
  std::shared_ptr<const MpiComm> comm_;  ///< the aliases' too
  MpiPeers peers_;
  std::vector<std::function<void()>> noted_;  ///< calls of a group
  const char* grouped_ = "";                  ///< the last of them, for messages
  std::int64_t grouped_bytes_ = 0;
  MpiRequests pending_;  ///< posted, not known to be complete
  RankOrderSums sums_;
  CallGroup group_{*this};
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(Stream& stream, std::string name) {
  if (stream.device().type() != DeviceType::cpu) {
    throw internal_error("comm", "the mpi backend serves CPU streams, this one is of {}", stream.device().name());
  }
  const OperationScope operation("MPI_Comm_idup", name);
  MpiComm comm = duplicate(MPI_COMM_WORLD, operation);
  return std::make_unique<MpiCommunicator>(stream, std::move(name), std::move(comm));
}

}  // namespace octet

#include "src/comm/mpi/mpi_communicator.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/hosts.h"
#include "src/comm/call_group.h"
#include "src/comm/checked_arguments.h"
#include "src/comm/mpi/host_reductions.h"
#include "src/comm/mpi/mpi_handles.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/watchdog.h"
#include "src/device/buffer.h"

namespace octet {
namespace {

using Requests = std::vector<MPI_Request>;

enum Tag : int { transfer_tag, piece_tag };

/// MPI's counts are ints.
constexpr std::int64_t most_elements = 1 << 30;

char* at(void* p, std::int64_t bytes) {
  return static_cast<char*>(p) + bytes;
}

/// Polls until all are complete; never blocks inside MPI, so that ranks that share a core get on. Requests that are
/// still active when the deadline throws are left to MPI: the job is about to end.
void wait_all(Requests& requests, const OperationScope& operation) {
  for (;;) {
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (done != 0) break;
    sched_yield();
    operation.check_deadline();
  }
  requests.clear();
}

MpiComm duplicate(MPI_Comm comm, const OperationScope& operation) {
  MPI_Comm copy = MPI_COMM_NULL;
  Requests request(1, MPI_REQUEST_NULL);
  check_mpi(MPI_Comm_idup(comm, &copy, request.data()), "MPI_Comm_idup");
  wait_all(request, operation);
  return MpiComm(copy);
}

/// A part of a reduce-scatter: `length` elements from `offset` on in the piece of each rank.
struct ReduceStep {
  const float* send;  ///< [ranks · stride]
  float* recv;        ///< [stride]
  std::int64_t stride;
  std::int64_t offset;
  std::int64_t length;

  std::int64_t bytes() const { return length * size_of(DType::f32); }
  const float* piece(int of_rank) const { return send + of_rank * stride + offset; }
  float* result() const { return recv + offset; }
};

/// One send or receive. What is not over when an error ends the job is left to MPI.
class MpiTransfer final : public Transfer {
 public:
  MpiTransfer(const char* name, const std::string& group, std::int64_t bytes)
      : name_(name), group_(group), bytes_(bytes) {}
  MPI_Request* post() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  void wait(Stream&) override {
    const OperationScope operation(name_, group_, bytes_);
    wait_all(requests_, operation);
  }
  void poll() override {
    int done = 0;
    if (!requests_.empty()) check_mpi(MPI_Test(requests_.data(), &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) requests_.clear();
  }

 private:
  const char* name_;
  const std::string& group_;
  std::int64_t bytes_;
  Requests requests_;
};

class MpiCommunicator final : public Communicator, private GroupMember {
 public:
  MpiCommunicator(Stream& stream, std::string name, MpiComm comm)
      : MpiCommunicator(stream, std::move(name), std::make_shared<const MpiComm>(std::move(comm))) {
    check_mpi(MPI_Comm_set_errhandler(mpi(), MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  /// Over a communicator that others use too.
  MpiCommunicator(Stream& stream, std::string name, std::shared_ptr<const MpiComm> comm)
      : stream_(stream), name_(std::move(name)), comm_(std::move(comm)) {
    check_mpi(MPI_Comm_rank(mpi(), &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(mpi(), &size_), "MPI_Comm_size");
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::string& name() const override { return name_; }
  Stream& stream() const override { return stream_; }

  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    check_count("all_gather", name_, count);
    const std::int64_t bytes = count * size_of(dtype);
    const OperationScope operation("all_gather", name_, size_ * bytes);
    run(operation, [=, this] { pending_.push_back(start_all_gather(send, recv, bytes)); });
  }

  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    check_count("reduce_scatter", name_, count);
    const OperationScope operation("reduce_scatter", name_, size_ * count * size_of(DType::f32));
    run(operation, [=, this] { add_steps(send, recv, count); });
  }

  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    check_count("all_reduce", name_, count);
    check_reducible(name_, dtype);
    if (size_ == 1 || count == 0) return;
    const OperationScope operation(op == ReduceOp::sum ? "all_reduce (sum)" : "all_reduce (max)", name_,
                                   count * size_of(dtype));
    run(operation, [=, this] {
      is_exact(dtype, op) ? start_exact(data, count, dtype, op) : sum_all(static_cast<float*>(data), count);
    });
  }

  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) override {
    check_count("all_to_all", name_, count);
    const std::int64_t bytes = count * size_of(dtype);
    const OperationScope operation("all_to_all", name_, size_ * bytes);
    run(operation, [=, this] {
      const MpiBytes part(bytes);
      check_mpi(MPI_Ialltoall(send, part.count(), part.type(), recv, part.count(), part.type(), mpi(), post()),
                "MPI_Ialltoall");
    });
  }

  void broadcast(void* data, std::int64_t count, DType dtype, int root) override {
    check_count("broadcast", name_, count);
    check_peer("broadcast", name_, root, size_);
    const OperationScope operation("broadcast", name_, count * size_of(dtype));
    run(operation, [=, this] {
      const MpiBytes all(count * size_of(dtype));
      check_mpi(MPI_Ibcast(data, all.count(), all.type(), root, mpi(), post()), "MPI_Ibcast");
    });
  }

  void send(const void* data, std::int64_t count, DType dtype, int to) override {
    check_transfer("send", count, to);
    const OperationScope operation("send", name_, count * size_of(dtype));
    run(operation, [=, this] { post_send(data, count * size_of(dtype), to, transfer_tag, post()); });
  }

  void recv(void* data, std::int64_t count, DType dtype, int from) override {
    check_transfer("recv", count, from);
    const OperationScope operation("recv", name_, count * size_of(dtype));
    run(operation, [=, this] { post_recv(data, count * size_of(dtype), from, transfer_tag, post()); });
  }

  std::unique_ptr<Transfer> start_send(const void* data, std::int64_t count, DType dtype, int to) override {
    check_start("send", count, to);
    auto transfer = std::make_unique<MpiTransfer>("send", name_, count * size_of(dtype));
    post_send(data, count * size_of(dtype), to, transfer_tag, transfer->post());
    return transfer;
  }

  std::unique_ptr<Transfer> start_recv(void* data, std::int64_t count, DType dtype, int from) override {
    check_start("recv", count, from);
    auto transfer = std::make_unique<MpiTransfer>("recv", name_, count * size_of(dtype));
    post_recv(data, count * size_of(dtype), from, transfer_tag, transfer->post());
    return transfer;
  }

  void barrier() override {
    const OperationScope operation("barrier", name_);
    Requests request(1, MPI_REQUEST_NULL);
    check_mpi(MPI_Ibarrier(mpi(), request.data()), "MPI_Ibarrier");
    wait_all(request, operation);
  }

  void group_begin() override { group_.begin(); }
  void group_end() override { group_.end(name_); }

  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    refuse_in_group("split");
    if (color < 0) throw internal_error("comm", "split of group {} with colour {}", name_, color);
    const OperationScope operation("split", name_);
    return std::make_unique<MpiCommunicator>(stream_, std::move(name), split_comm(color, key, operation));
  }

  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    refuse_in_group("split");
    const OperationScope operation("split_by_node", name_);
    const NodeName mine = sendable(node_name(host_name(), [](const char* n) { return std::getenv(n); }));
    std::vector<NodeName> names(static_cast<std::size_t>(size_));
    all_gather_now(mine.data(), names.data(), sizeof mine, operation);
    const int color = first_rank_of_node(names, rank_);
    return std::make_unique<MpiCommunicator>(stream_, std::move(name), split_comm(color, rank_, operation));
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
    run_steps(operation);
    wait_all(pending_, operation);
  }

  void refuse_in_group(const char* call) const {
    if (CallGroup::open())
      throw internal_error("comm", "{} of group {} between group_begin and group_end", call, name_);
  }

  void post_send(const void* data, std::int64_t bytes, int to, Tag tag, MPI_Request* request) const {
    const MpiBytes all(bytes);
    check_mpi(MPI_Isend(data, all.count(), all.type(), to, tag, mpi(), request), "MPI_Isend");
  }

  void post_recv(void* data, std::int64_t bytes, int from, Tag tag, MPI_Request* request) const {
    const MpiBytes all(bytes);
    check_mpi(MPI_Irecv(data, all.count(), all.type(), from, tag, mpi(), request), "MPI_Irecv");
  }

  void all_gather_now(const void* send, void* recv, std::int64_t bytes, const OperationScope& operation) {
    Requests gather(1, start_all_gather(send, recv, bytes));
    wait_all(gather, operation);
  }

  MPI_Request start_all_gather(const void* send, void* recv, std::int64_t bytes) {
    const bool in_place = send == at(recv, rank_ * bytes);
    const MpiBytes part(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallgather(in_place ? MPI_IN_PLACE : send, part.count(), part.type(), recv, part.count(), part.type(),
                             mpi(), &request),
              "MPI_Iallgather");
    return request;  // NOLINT(clang-analyzer-optin.mpi.MPI-Checker): the caller waits
  }

  /// MPI_Comm_split cannot be polled and takes its time when cores are scarce, so the two frequent cases, all ranks in
  /// one part as they are and every rank alone, are duplicates.
  MpiComm split_comm(int color, int key, const OperationScope& operation) {
    const std::array<int, 2> mine{color, key};
    std::vector<std::array<int, 2>> all(static_cast<std::size_t>(size_));
    all_gather_now(mine.data(), all.data(), sizeof mine, operation);
    const bool whole = std::is_sorted(all.begin(), all.end()) && all.front()[0] == all.back()[0];
    if (whole) return duplicate(mpi(), operation);
    std::sort(all.begin(), all.end());
    const auto equal_colors = [](const auto& a, const auto& b) { return a[0] == b[0]; };
    if (std::adjacent_find(all.begin(), all.end(), equal_colors) == all.end()) {
      return duplicate(MPI_COMM_SELF, operation);
    }
    MpiComm part;
    check_mpi(MPI_Comm_split(mpi(), color, key, part.out()), "MPI_Comm_split");
    return part;
  }

  void check_transfer(const char* operation, std::int64_t count, int peer) const {
    check_count(operation, name_, count);
    check_peer(operation, name_, peer, size_);
    if (peer == rank_ && !CallGroup::open()) {
      throw internal_error("comm", "{} with oneself outside group_begin/end never ends", operation);
    }
  }

  void check_start(const char* operation, std::int64_t count, int peer) const {
    check_count(operation, name_, count);
    check_peer(operation, name_, peer, size_);
    if (CallGroup::open())
      throw internal_error("comm", "start_{} of group {} within a group of calls", operation, name_);
  }

  /// Cuts a reduce-scatter of `count` elements a rank into steps that fit the scratch. `recv` may be this rank's own
  /// piece of `send`.
  void add_steps(const float* send, float* recv, std::int64_t count) {
    const std::int64_t most = rank_order::most_of_a_step(size_);
    for (std::int64_t offset = 0; offset < count; offset += most) {
      steps_.push_back({send, recv, count, offset, std::min(most, count - offset)});
    }
  }

  /// Exchanges and folds the steps in order; the exchange of a step runs while the one before is folded.
  void run_steps(const OperationScope& operation) {
    if (steps_.empty()) return;
    const auto steps = std::exchange(steps_, {});
    std::int64_t most = 0;
    for (const ReduceStep& step : steps) most = std::max(most, step.bytes());
    const std::int64_t half = (size_ - 1) * most;
    char* const area = scratch(2 * half);

    std::array<Requests, 2> requests;
    const auto start = [&](std::size_t i) { start_step(steps[i], area + (i % 2) * half, requests[i % 2]); };
    start(0);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (i + 1 < steps.size()) start(i + 1);
      wait_all(requests[i % 2], operation);
      fold(steps[i], steps[i].piece(rank_), reinterpret_cast<const float*>(area + (i % 2) * half));
    }
  }

  /// Sends every peer its part and receives theirs of ours, into `to`, in rank order without our own.
  void start_step(const ReduceStep& step, char* to, Requests& requests) {
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      post_recv(to, step.bytes(), peer, piece_tag, &requests.emplace_back(MPI_REQUEST_NULL));
      to += step.bytes();
    }
    for (int distance = 1; distance < size_; ++distance) {  // not all at the same peer first
      const int peer = (rank_ + distance) % size_;
      post_send(step.piece(peer), step.bytes(), peer, piece_tag, &requests.emplace_back(MPI_REQUEST_NULL));
    }
  }

  void fold(const ReduceStep& step, const float* own, const float* others) {
    inputs_.clear();
    for (int peer = 0; peer < size_; ++peer) {
      inputs_.push_back(peer == rank_ ? own : others);
      if (peer != rank_) others += step.length;
    }
    sum_in_rank_order(inputs_, step.result(), step.length);
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

  /// In rank order, and to its end, also where a group starts: the steps that the group has yet to make share no memory
  /// with this.
  void sum_all(float* data, std::int64_t count) {
    const OperationScope operation("all_reduce (sum)", name_, count * size_of(DType::f32));
    auto later = std::exchange(steps_, {});
    const std::int64_t piece = rank_order::all_reduce_piece(size_, count);
    if (piece > 0) {
      float* const own = data + rank_ * piece;
      add_steps(data, own, piece);
      run_steps(operation);
      all_gather_now(own, data, piece * size_of(DType::f32), operation);
    }
    const std::int64_t done = piece * size_;
    sum_all_small(data + done, count - done, operation);
    steps_ = std::move(later);
  }

  void sum_all_small(float* data, std::int64_t count, const OperationScope& operation) {
    if (count == 0) return;
    auto* const all = reinterpret_cast<float*>(scratch(size_ * count * size_of(DType::f32)));
    all_gather_now(data, all, count * size_of(DType::f32), operation);
    inputs_.clear();
    for (int r = 0; r < size_; ++r) inputs_.push_back(all + r * count);
    sum_in_rank_order(inputs_, data, count);
  }

  char* scratch(std::int64_t bytes) {
    if (scratch_.bytes() < bytes) {
      scratch_ = Buffer();  // give back the old one first
      scratch_ = Buffer(stream_.device(), bytes, Purpose::communication);
    }
    return scratch_.as<char>();
  }

  Stream& stream_;
  std::string name_;
  std::shared_ptr<const MpiComm> comm_;  ///< the aliases' too
  int rank_ = 0;
  int size_ = 1;
  std::vector<std::function<void()>> noted_;  ///< calls of a group
  const char* grouped_ = "";                  ///< the last of them, for messages
  std::int64_t grouped_bytes_ = 0;
  Requests pending_;               ///< posted, not known to be complete
  std::vector<ReduceStep> steps_;  ///< of reductions, not begun
  std::vector<const float*> inputs_;
  Buffer scratch_;
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

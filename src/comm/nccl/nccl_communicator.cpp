#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <utility>

#include "src/base/error.h"
#include "src/comm/call_group.h"
#include "src/comm/checked_arguments.h"
#include "src/comm/nccl/nccl_api.h"
#include "src/comm/nccl/nccl_group.h"
#include "src/comm/nccl/nccl_ids.h"
#include "src/comm/nccl/nccl_memory.h"
#include "src/comm/operation.h"

namespace octet {
namespace {

class NcclCommunicator final : public Communicator, private GroupMember {
 public:
  NcclCommunicator(std::shared_ptr<NcclGroup> group, std::unique_ptr<Communicator> rendezvous, Stream& stream,
                   const NcclSettings& settings, const NcclApi& api)
      : rendezvous_(std::move(rendezvous)),
        stream_(stream),
        settings_(settings),
        api_(api),
        shared_(std::move(group)),
        group_(*shared_) {
    const NcclBuffers buffers = settings_.of(name()).buffers;
    if (buffers != NcclBuffers::plain)
      memory_ = std::make_unique<NcclMemory>(api, group_, name(), stream.device(), buffers);
  }

  int rank() const override { return rendezvous_->rank(); }
  int size() const override { return rendezvous_->size(); }
  const std::string& name() const override { return rendezvous_->name(); }
  Stream& stream() const override { return stream_; }

  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    check_count("all_gather", name(), count);
    const std::size_t bytes = bytes_of(count, dtype);
    run("all_gather", size() * count * size_of(dtype),
        [=, this] { return api_.all_gather(send, recv, bytes, ncclUint8, group_.get(), native()); });
  }

  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    check_count("reduce_scatter", name(), count);
    run("reduce_scatter", size() * count * size_of(DType::f32), [=, this] {
      return api_.reduce_scatter(send, recv, static_cast<std::size_t>(count), ncclFloat32, ncclSum, group_.get(),
                                 native());
    });
  }

  /// NCCL's maximum of floats drops a NaN; as integers the floats that are not negative keep their order, with NaN
  /// above all and what is negative below.
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    all_reduce_to(data, data, count, dtype, op);
  }

  void all_reduce_to(const void* send, void* recv, std::int64_t count, DType dtype, ReduceOp op) override {
    check_count("all_reduce", name(), count);
    check_reducible(name(), dtype);
    const bool floats = dtype == DType::f32 && op == ReduceOp::sum;
    run(op == ReduceOp::sum ? "all_reduce (sum)" : "all_reduce (max)", count * size_of(dtype), [=, this] {
      return api_.all_reduce(send, recv, static_cast<std::size_t>(count), floats ? ncclFloat32 : ncclInt32,
                             op == ReduceOp::sum ? ncclSum : ncclMax, group_.get(), native());
    });
  }

  /// For more ranks than one NCCL group takes, a group of several parts. A part covers the same distances on all ranks,
  /// so that whatever one rank sends in a part, another rank receives in that part.
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) override {
    check_count("all_to_all", name(), count);
    const int most = api_.most_exchanges / 2;
    if (size() > most) group_begin();
    for (int first = 0; first < size(); first += most) {
      const int last = std::min(size(), first + most);
      run(
          "all_to_all", (last - first) * count * size_of(dtype),
          [=, this] { return exchange(send, recv, bytes_of(count, dtype), first, last); }, 2 * (last - first));
    }
    if (size() > most) group_end();
  }

  void broadcast(void* data, std::int64_t count, DType dtype, int root) override {
    broadcast_to(data, data, count, dtype, root);
  }

  void broadcast_to(const void* send, void* recv, std::int64_t count, DType dtype, int root) override {
    check_count("broadcast", name(), count);
    check_peer("broadcast", name(), root, size());
    run("broadcast", count * size_of(dtype), [=, this] {
      return api_.broadcast(send, recv, bytes_of(count, dtype), ncclUint8, root, group_.get(), native());
    });
  }

  void send(const void* data, std::int64_t count, DType dtype, int to) override {
    check_transfer("send", count, to);
    run("send", count * size_of(dtype),
        [=, this] { return api_.send(data, bytes_of(count, dtype), ncclUint8, to, group_.get(), native()); });
  }

  void recv(void* data, std::int64_t count, DType dtype, int from) override {
    check_transfer("recv", count, from);
    run("recv", count * size_of(dtype),
        [=, this] { return api_.recv(data, bytes_of(count, dtype), ncclUint8, from, group_.get(), native()); });
  }

  void barrier() override {
    const OperationScope operation("barrier", name());
    if (CallGroup::open()) return;  // what follows in the stream comes after group_end anyway
    stream_.synchronize();
    rendezvous_->barrier();
  }

  void group_begin() override { group_calls_.begin(); }
  void group_end() override { group_calls_.end(name()); }

  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    if (CallGroup::open())
      throw internal_error("comm", "split of group {} between group_begin and group_end", this->name());
    return made_of(rendezvous_->split(color, key, std::move(name)));
  }

  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    if (CallGroup::open())
      throw internal_error("comm", "split of group {} between group_begin and group_end", this->name());
    return made_of(rendezvous_->split_by_node(std::move(name)));
  }

  std::unique_ptr<Communicator> alias(std::string name) override {
    if (settings_.of(name) != settings_.of(this->name())) return split(0, rank(), std::move(name));
    group_.add_user(name);
    return std::make_unique<NcclCommunicator>(shared_, rendezvous_->alias(std::move(name)), stream_, settings_, api_);
  }

  std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) override {
    if (CallGroup::open()) throw internal_error("comm", "on_stream of group {} within a group of calls", this->name());
    return make_nccl_communicator(rendezvous_->split(0, rank(), std::move(name)), stream, settings_, api_);
  }

  /// NCCL's own buffers are not in the ledger: src/comm/nccl_footprint.h.
  MemorySource& memory() override { return memory_ ? *memory_ : Communicator::memory(); }
  [[noreturn]] void abort(int exit_code) override {
    rendezvous_->abort(exit_code);
    std::abort();  // gcc does not believe a virtual noreturn
  }

 private:
  struct Noted {
    std::function<ncclResult_t()> call;
    int exchanges;
  };

  /// The communicator of ranks that a split of this one has put together.
  std::unique_ptr<Communicator> made_of(std::unique_ptr<Communicator> part) {
    require_one_meeting(*part, size());
    return make_nccl_communicator(std::move(part), stream_, settings_, api_);
  }
  static std::size_t bytes_of(std::int64_t count, DType dtype) {
    return static_cast<std::size_t>(count * size_of(dtype));
  }
  cudaStream_t native() const { return static_cast<cudaStream_t>(stream_.native()); }

  void check_transfer(const char* operation, std::int64_t count, int peer) const {
    check_count(operation, name(), count);
    check_peer(operation, name(), peer, size());
    if (peer == rank() && !CallGroup::open()) {
      throw internal_error("comm", "{} with oneself outside group_begin/end never ends", operation);
    }
  }

  /// Sends to the ranks at the distances [first, last) after this one, and receives from those at the same distances
  /// before it.
  ncclResult_t exchange(const void* send, void* recv, std::size_t bytes, int first, int last) const {
    ncclResult_t result = api_.group_start();
    const auto attempt = [&](ncclResult_t r) { result = result == ncclSuccess ? r : result; };
    for (int distance = first; distance < last; ++distance) {
      const int to = (rank() + distance) % size(), from = (rank() - distance + size()) % size();
      attempt(api_.send(static_cast<const char*>(send) + static_cast<std::size_t>(to) * bytes, bytes, ncclUint8, to,
                        group_.get(), native()));
      attempt(api_.recv(static_cast<char*>(recv) + static_cast<std::size_t>(from) * bytes, bytes, ncclUint8, from,
                        group_.get(), native()));
    }
    attempt(api_.group_end());
    return result;
  }

  /// One call of NCCL: now, or when the outermost group ends. `exchanges`: the sends and receives of an all_to_all.
  template <typename Call>
  void run(const char* what, std::int64_t bytes, const Call& call, int exchanges = 0) {
    const OperationScope operation(what, name(), bytes);
    if (CallGroup::open()) {
      group_calls_.join();
      noted_.push_back({call, exchanges});
      grouped_ = what;
      grouped_bytes_ += bytes;
      return;
    }
    group_.wait_until_ready(operation);
    group_.check(call(), operation);
    group_.wait_until_ready(operation);
    group_.launched(operation.text());
  }
  /// NCCL has one group for a thread: the groups of all members are one, which is launched when the last member ends
  /// its own. This puts the noted calls into it, up to the first all_to_all that would be too much. All ranks of the
  /// communicator make the same all_to_all calls, and so divide them alike; other sends and receives do not count,
  /// since ranks may differ in them.
  void start() override {
    const OperationScope operation(grouped_, name(), grouped_bytes_);
    group_.wait_until_ready(operation);
    group_.check(api_.group_start(), operation);
    for (; !noted_.empty() && group_.takes(noted_.front().exchanges); noted_.pop_front())
      group_.check(noted_.front().call(), operation);
  }
  void launch() override {
    const OperationScope operation(grouped_, name(), grouped_bytes_);
    group_.check(api_.group_end(), operation);
    group_.ended();
  }
  /// What is left of the noted calls follows in groups of its own.
  void finish() override {
    const OperationScope operation(grouped_, name(), grouped_bytes_);
    group_.wait_until_ready(operation);
    while (!noted_.empty()) {
      start();
      launch();
      group_.wait_until_ready(operation);
    }
    grouped_bytes_ = 0;
    group_.launched(operation.text());
  }

  std::unique_ptr<Communicator> rendezvous_;
  Stream& stream_;
  NcclSettings settings_;
  const NcclApi& api_;
  std::shared_ptr<NcclGroup> shared_;  ///< with the aliases
  NcclGroup& group_;
  std::unique_ptr<NcclMemory> memory_;  ///< unless it is the device's
  std::deque<Noted> noted_;             ///< calls of a group
  const char* grouped_ = "";            ///< the last of them, for messages
  std::int64_t grouped_bytes_ = 0;
  CallGroup group_calls_{*this};
};

int version_in_use = 0;

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> rendezvous, Stream& stream,
                                                     const NcclSettings& settings, const NcclApi& api) {
  if (rendezvous->size() == 1 && !settings.one_rank_groups) return make_self_communicator(stream, rendezvous->name());
  auto group = std::make_shared<NcclGroup>(api, settings.of(rendezvous->name()), common_ids(api, *rendezvous),
                                           rendezvous->rank(), rendezvous->size(), rendezvous->name(), stream);
  api.get_version(&version_in_use);
  return std::make_unique<NcclCommunicator>(std::move(group), std::move(rendezvous), stream, settings, api);
}

std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> rendezvous, Stream& stream,
                                                     const NcclSettings& settings) {
  if (stream.device().type() != DeviceType::cuda) {
    throw internal_error("comm", "the nccl backend serves CUDA streams, this one is of {}", stream.device().name());
  }
  return make_nccl_communicator(std::move(rendezvous), stream, settings, nccl_api());
}

int nccl_in_use() {
  return version_in_use;
}

std::string nccl_version() {
  int version = 0;
  nccl_api().get_version(&version);
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace octet

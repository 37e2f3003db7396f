#include "src/comm/dry_communicator.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "src/base/error.h"
#include "src/comm/call_group.h"
#include "src/comm/checked_arguments.h"
#include "src/comm/rank_order.h"
#include "src/comm/trace.h"
#include "src/device/buffer.h"

namespace octet {
namespace {

/// The device's memory, which its users keep.
class KeptMemory final : public MemorySource {
 public:
  explicit KeptMemory(Device& device) : device_(device) {}
  void* allocate(std::int64_t bytes) override { return device_.allocate(bytes); }
  void deallocate(void* memory, std::int64_t bytes) noexcept override { device_.deallocate(memory, bytes); }
  MemoryLedger& ledger() override { return device_.ledger(); }
  bool cheap() const override { return false; }

 private:
  Device& device_;
};

class DryCommunicator final : public Communicator, private GroupMember {
 public:
  /// `shared`: the index in `world.made` of the group that is used; without it, a new group is added there.
  DryCommunicator(DryWorld world, std::vector<int> ranks, Stream& stream, std::string name,
                  std::optional<std::size_t> shared)
      : world_(std::move(world)),
        ranks_(std::move(ranks)),
        stream_(stream),
        name_(std::move(name)),
        kept_(stream.device()) {
    if (world_.made == nullptr) return;
    place_ = shared.value_or(world_.made->size());
    if (!shared) world_.made->push_back({.name = name_, .ranks = ranks_, .traffic = {}});
  }

  int rank() const override { return static_cast<int>(std::ranges::find(ranks_, world_.rank) - ranks_.begin()); }
  int size() const override { return static_cast<int>(ranks_.size()); }
  const std::string& name() const override { return name_; }
  Stream& stream() const override { return stream_; }

  void all_gather(const void*, void*, std::int64_t count, DType dtype) override {
    skip("all_gather", count, size() * count * size_of(dtype), {.gathers = true});
  }
  void reduce_scatter(const float*, float*, std::int64_t count) override {
    skip("reduce_scatter", count, size() * count * size_of(DType::f32), {.gathers = true});
    take_scratch(rank_order::reduce_scatter_scratch(size(), count));
  }
  void all_reduce(void*, std::int64_t count, DType dtype, ReduceOp op) override {
    check_reducible(name_, dtype);
    const bool large = count * size_of(dtype) > few_bytes;
    skip(op == ReduceOp::sum ? "all_reduce_sum" : "all_reduce_max", count, count * size_of(dtype),
         {.reduces = large, .agrees = !large});
    if (!is_exact(dtype, op)) take_scratch(rank_order::all_reduce_scratch(size(), count));
  }
  void all_to_all(const void*, void*, std::int64_t count, DType dtype) override {
    skip("all_to_all", count, size() * count * size_of(dtype), {.exchanges = true});
  }
  void broadcast(void*, std::int64_t count, DType dtype, int root) override {
    check_peer("broadcast", name_, root, size());
    skip("broadcast", count, count * size_of(dtype), {.gathers = true});
  }
  void send(const void*, std::int64_t count, DType dtype, int to) override {
    check_peer("send", name_, to, size());
    skip("send", count, count * size_of(dtype), {.exchanges = true});
  }
  void recv(void*, std::int64_t count, DType dtype, int from) override {
    check_peer("recv", name_, from, size());
    skip("recv", count, count * size_of(dtype), {.exchanges = true});
  }
  void barrier() override {}

  void group_begin() override { group_.begin(); }
  void group_end() override { group_.end(name_); }

  std::unique_ptr<Communicator> split(int, int, std::string name) override {
    const MeshGroup* const group = find_group(name, world_.shape);
    if (group == nullptr) {
      throw internal_error("comm", "a group of no mesh, {}, was asked of a world without ranks", name);
    }
    return of(ranks_of(*group, world_.shape, world_.rank), stream_, std::move(name));
  }
  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    throw internal_error("comm", "the ranks of a node, {}, were asked of a world without nodes", name);
  }
  std::unique_ptr<Communicator> alias(std::string name) override {
    const bool shares = !world_.alike || world_.alike(name_, name);
    return of(ranks_, stream_, std::move(name), shares ? std::optional(place_) : std::nullopt);
  }
  std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) override {
    return of(ranks_, stream, std::move(name));
  }

  MemorySource& memory() override {
    const bool of_its_own = size() > 1 || world_.one_rank_groups;
    if (of_its_own && world_.keeps_memory && world_.keeps_memory(name_)) return kept_;
    return stream_.device();
  }
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

 private:
  std::unique_ptr<Communicator> of(std::vector<int> ranks, Stream& stream, std::string name,
                                   std::optional<std::size_t> shared = {}) const {
    return std::make_unique<DryCommunicator>(world_, std::move(ranks), stream, std::move(name), shared);
  }
  /// The calls of a group are one piece of work, named after the first; what is received comes while it is sent.
  void start() override { stream_.skip(std::exchange(grouped_, {})); }
  void finish() override {}
  void skip(const char* operation, std::int64_t count, std::int64_t bytes, const NcclTraffic& traffic) {
    check_count(operation, name_, count);
    if (world_.made != nullptr) (*world_.made)[place_].traffic |= traffic;
    const Work work{.name = operation,
                    .bytes = bytes,
                    .group = name_,
                    .ranks = size(),
                    .bus_bytes = bus_bytes(operation, size(), bytes)};
    if (!CallGroup::open()) return stream_.skip(work);
    group_.join();
    if (grouped_.name.empty()) grouped_.name = work.name;
    grouped_.group = work.group;
    grouped_.ranks = work.ranks;
    grouped_.bytes += work.bytes;
    grouped_.bus_bytes += work.bus_bytes;
  }

  void take_scratch(std::int64_t bytes) {
    if (!world_.in_rank_order || scratch_.bytes() >= bytes) return;
    scratch_ = Buffer();
    scratch_ = Buffer(stream_.device(), bytes, Purpose::communication);
  }

  DryWorld world_;
  std::vector<int> ranks_;  ///< of the world, this group's
  Stream& stream_;
  std::string name_;
  std::size_t place_ = 0;  ///< among world_.made
  KeptMemory kept_;
  Buffer scratch_;
  Work grouped_{};  ///< of the group of calls that is open
  CallGroup group_{*this};
};

}  // namespace

std::unique_ptr<Communicator> make_dry_communicator(const DryWorld& world, Stream& stream) {
  DryWorld resolved = world;
  const MeshShape& s = world.shape;
  resolved.shape = resolve(s, s.pp * s.dp_replicate * s.dp_shard * s.cp * s.tp);
  return std::make_unique<DryCommunicator>(resolved, ranks_of(mesh_group(GroupKind::world), resolved.shape, world.rank),
                                           stream, "world", std::nullopt);
}

}  // namespace octet

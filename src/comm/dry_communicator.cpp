#include "src/comm/dry_communicator.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "src/base/error.h"
#include "src/comm/arguments.h"
#include "src/comm/call_group.h"
#include "src/comm/mpi/exact_reduction.h"
#include "src/comm/mpi/rank_order.h"
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
  DryCommunicator(DryWorld world, std::vector<int> ranks, Stream& stream, std::string name)
      : world_(std::move(world)),
        ranks_(std::move(ranks)),
        stream_(stream),
        name_(std::move(name)),
        kept_(stream.device()) {}

  int rank() const override { return static_cast<int>(std::ranges::find(ranks_, world_.rank) - ranks_.begin()); }
  int size() const override { return static_cast<int>(ranks_.size()); }
  const std::string& name() const override { return name_; }
  Stream& stream() const override { return stream_; }

  void all_gather(const void*, void*, std::int64_t count, DType) override { check("all_gather", count); }
  void reduce_scatter(const float*, float*, std::int64_t count) override {
    check("reduce_scatter", count);
    take_scratch(rank_order::reduce_scatter_scratch(size(), count));
  }
  void all_reduce(void*, std::int64_t count, DType dtype, ReduceOp op) override {
    check("all_reduce", count);
    check_reducible(name_, dtype);
    if (!is_exact(dtype, op)) take_scratch(rank_order::all_reduce_scratch(size(), count));
  }
  void all_to_all(const void*, void*, std::int64_t count, DType) override { check("all_to_all", count); }
  void broadcast(void*, std::int64_t count, DType, int root) override {
    check("broadcast", count);
    check_peer("broadcast", name_, root, size());
  }
  void send(const void*, std::int64_t count, DType, int to) override {
    check("send", count);
    check_peer("send", name_, to, size());
  }
  void recv(void*, std::int64_t count, DType, int from) override {
    check("recv", count);
    check_peer("recv", name_, from, size());
  }
  void barrier() override {}

  void group_begin() override { group_.begin(); }
  void group_end() override { group_.end(name_); }

  std::unique_ptr<Communicator> split(int, int, std::string name) override {
    const auto* const group = std::ranges::find(mesh_groups, std::string_view(name), &MeshGroup::name);
    if (group == mesh_groups.end()) {
      throw internal_error("comm", "a group of no mesh, {}, was asked of a world without ranks", name);
    }
    return of(ranks_of(*group, world_.shape, world_.rank), stream_, std::move(name));
  }
  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    throw internal_error("comm", "the ranks of a node, {}, were asked of a world without nodes", name);
  }
  std::unique_ptr<Communicator> alias(std::string name) override { return of(ranks_, stream_, std::move(name)); }
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
  std::unique_ptr<Communicator> of(std::vector<int> ranks, Stream& stream, std::string name) const {
    return std::make_unique<DryCommunicator>(world_, std::move(ranks), stream, std::move(name));
  }
  void start() override {}
  void finish() override {}
  void check(const char* operation, std::int64_t count) const { check_count(operation, name_, count); }

  /// As the MPI backend, which sums in rank order; NCCL's memory is not the ledger's.
  void take_scratch(std::int64_t bytes) {
    if (stream_.device().type() != DeviceType::cpu || scratch_.bytes() >= bytes) return;
    scratch_ = Buffer();
    scratch_ = Buffer(stream_.device(), bytes, Purpose::communication);
  }

  DryWorld world_;
  std::vector<int> ranks_;  ///< of the world, this group's
  Stream& stream_;
  std::string name_;
  KeptMemory kept_;
  Buffer scratch_;
  CallGroup group_{*this};
};

}  // namespace

std::unique_ptr<Communicator> make_dry_communicator(const DryWorld& world, Stream& stream) {
  DryWorld resolved = world;
  const MeshShape& s = world.shape;
  resolved.shape = resolve(s, s.pp * s.dp_replicate * s.dp_shard * s.cp * s.tp);
  return std::make_unique<DryCommunicator>(resolved, ranks_of(mesh_group(GroupKind::world), resolved.shape, world.rank),
                                           stream, "world");
}

}  // namespace octet

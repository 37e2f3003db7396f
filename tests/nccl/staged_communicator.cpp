#include "tests/nccl/staged_communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "src/comm/call_group.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl_communicator.h"
#include "src/device/buffer.h"
#include "tests/nccl/one_gpu.h"

namespace octet::test {
namespace {

class Staged final : public Communicator, private GroupMember {
 public:
  Staged(std::shared_ptr<Communicator> inner, Stream& claimed, std::shared_ptr<Stream> stream)
      : inner_(std::move(inner)), claimed_(claimed), stream_(std::move(stream)) {}
  ~Staged() override { stream_->synchronize(); }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  Stream& stream() const override { return claimed_; }

  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    const std::int64_t bytes = count * size_of(dtype);
    char* const all = area(size() * bytes);
    const bool in_place = send == static_cast<char*>(recv) + rank() * bytes;
    char* const own = in_place ? all + rank() * bytes : area(bytes);
    put(own, send, bytes);
    inner_->all_gather(own, all, count, dtype);
    get(recv, all, size() * bytes);
  }
  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    auto* const from = area(size() * count * 4);
    auto* const to = area(count * 4);
    put(from, send, size() * count * 4);
    inner_->reduce_scatter(reinterpret_cast<float*>(from), reinterpret_cast<float*>(to), count);
    get(recv, to, count * 4);
  }
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    char* const place = area(count * size_of(dtype));
    put(place, data, count * size_of(dtype));
    inner_->all_reduce(place, count, dtype, op);
    get(data, place, count * size_of(dtype));
  }
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) override {
    const std::int64_t bytes = size() * count * size_of(dtype);
    char* const from = area(bytes);
    char* const to = area(bytes);
    put(from, send, bytes);
    inner_->all_to_all(from, to, count, dtype);
    get(recv, to, bytes);
  }
  void broadcast(void* data, std::int64_t count, DType dtype, int root) override {
    char* const place = area(count * size_of(dtype));
    put(place, data, count * size_of(dtype));
    inner_->broadcast(place, count, dtype, root);
    get(data, place, count * size_of(dtype));
  }
  void send(const void* data, std::int64_t count, DType dtype, int to) override {
    char* const place = area(count * size_of(dtype));
    put(place, data, count * size_of(dtype));
    inner_->send(place, count, dtype, to);
    end_call();
  }
  void recv(void* data, std::int64_t count, DType dtype, int from) override {
    char* const place = area(count * size_of(dtype));
    inner_->recv(place, count, dtype, from);
    get(data, place, count * size_of(dtype));
  }
  void barrier() override { inner_->barrier(); }
  void group_begin() override { inner_->group_begin(); }
  void group_end() override { inner_->group_end(); }
  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    return std::make_unique<Staged>(inner_->split(color, key, std::move(name)), claimed_, stream_);
  }
  std::unique_ptr<Communicator> alias(std::string name) override {
    return std::make_unique<Staged>(inner_->alias(std::move(name)), claimed_, stream_);
  }
  /// The caller's stream is only claimed: both use the GPU's one.
  std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) override {
    return std::make_unique<Staged>(inner_->on_stream(*stream_, std::move(name)), stream, stream_);
  }
  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    return std::make_unique<Staged>(inner_->split_by_node(std::move(name)), claimed_, stream_);
  }
  [[noreturn]] void abort(int exit_code) override {
    inner_->abort(exit_code);
    std::abort();  // gcc does not believe a virtual noreturn
  }

 private:
  struct CopyBack {
    void* to;
    const char* from;
    std::int64_t bytes;
  };

  char* area(std::int64_t bytes) {
    if (CallGroup::open()) group_.join();
    areas_.emplace_back(stream_->device(), std::max<std::int64_t>(bytes, 1), Purpose::workspace);
    return areas_.back().as<char>();
  }
  void put(char* to, const void* from, std::int64_t bytes) {
    if (bytes > 0) stream_->device().copy_from_host(to, from, bytes, *stream_);
  }
  void get(void* to, const char* from, std::int64_t bytes) {
    back_.push_back({to, from, bytes});
    end_call();
  }
  void end_call() {
    if (!CallGroup::open()) finish();
  }
  void start() override {}
  /// After that of what is within, which joined the group later.
  void finish() override {
    for (const CopyBack& b : back_) {
      if (b.bytes > 0) stream_->device().copy_to_host(b.to, b.from, b.bytes, *stream_);
    }
    stream_->synchronize();
    back_.clear();
    areas_.clear();
  }

  std::shared_ptr<Communicator> inner_;
  Stream& claimed_;
  std::shared_ptr<Stream> stream_;
  std::vector<Buffer> areas_;
  std::vector<CopyBack> back_;
  CallGroup group_{*this};
};

/// Ends before MPI does.
struct World final : testing::Environment {
  void TearDown() override { nccl.reset(); }

  std::unique_ptr<Stream> cpu_stream = cpu_device().make_stream();
  std::shared_ptr<Stream> gpu_stream = cuda_device(0).make_stream();
  std::shared_ptr<Communicator> nccl;
};

World& gpu_world() {
  static World& instance = []() -> World& {
    auto* const made = new World;  // GoogleTest's, which deletes it
    testing::AddGlobalTestEnvironment(made);
    share_one_gpu();
    made->nccl = make_nccl_communicator(make_mpi_communicator(*made->cpu_stream, "world"), *made->gpu_stream, {});
    return *made;
  }();
  return instance;
}

}  // namespace

std::unique_ptr<Communicator> make_staged(Stream& stream) {
  return std::make_unique<Staged>(gpu_world().nccl, stream, gpu_world().gpu_stream);
}

}  // namespace octet::test

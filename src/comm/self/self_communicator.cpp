#include <cstdlib>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/comm/call_group.h"
#include "src/comm/checked_arguments.h"
#include "src/comm/communicator.h"

namespace octet {
namespace {

/// A group of one: what is received is what is sent.
class SelfCommunicator final : public Communicator, private GroupMember {
 public:
  SelfCommunicator(Stream& stream, std::string name) : stream_(stream), name_(std::move(name)) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  const std::string& name() const override { return name_; }
  Stream& stream() const override { return stream_; }

  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    check_count("all_gather", name_, count);
    copy(recv, send, count * size_of(dtype));
  }
  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    check_count("reduce_scatter", name_, count);
    copy(recv, send, count * size_of(DType::f32));
  }
  void all_reduce(void*, std::int64_t count, DType dtype, ReduceOp) override {
    check_count("all_reduce", name_, count);
    check_reducible(name_, dtype);
  }
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) override {
    check_count("all_to_all", name_, count);
    copy(recv, send, count * size_of(dtype));
  }
  void broadcast(void*, std::int64_t count, DType, int root) override {
    check_count("broadcast", name_, count);
    check_peer("broadcast", name_, root, 1);
  }
  void send(const void* data, std::int64_t count, DType dtype, int to) override {
    check_transfer("send", count, to);
    group_.join();
    sent_.push_back({data, count * size_of(dtype)});
  }
  void recv(void* data, std::int64_t count, DType dtype, int from) override {
    check_transfer("recv", count, from);
    group_.join();
    wanted_.push_back({data, count * size_of(dtype)});
  }
  void barrier() override {}

  void group_begin() override { group_.begin(); }
  void group_end() override { group_.end(name_); }

  std::unique_ptr<Communicator> split(int, int, std::string name) override {
    return make_self_communicator(stream_, std::move(name));
  }
  std::unique_ptr<Communicator> alias(std::string name) override {
    return make_self_communicator(stream_, std::move(name));
  }
  std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) override {
    return make_self_communicator(stream, std::move(name));
  }
  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    return make_self_communicator(stream_, std::move(name));
  }
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

 private:
  struct Copy {
    void* to;
    const void* from;
    std::int64_t bytes;
  };
  template <typename Pointer>
  struct Transfer {
    Pointer data;
    std::int64_t bytes;
  };

  /// Now, or when the outermost group ends.
  void copy(void* to, const void* from, std::int64_t bytes) {
    if (CallGroup::open()) {
      group_.join();
      copies_.push_back({to, from, bytes});
    } else if (to != from && bytes > 0) {
      stream_.device().copy(to, from, bytes, stream_);
    }
  }
  void start() override {
    for (const Copy& c : std::exchange(copies_, {})) copy(c.to, c.from, c.bytes);
    const auto sent = std::exchange(sent_, {});
    const auto wanted = std::exchange(wanted_, {});
    if (sent.size() != wanted.size()) {
      throw internal_error("comm", "{} sends but {} recvs in group {} of one rank", sent.size(), wanted.size(), name_);
    }
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (sent[i].bytes != wanted[i].bytes) {
        throw internal_error("comm", "send of {} bytes meets recv of {} in group {}", sent[i].bytes, wanted[i].bytes,
                             name_);
      }
      copy(wanted[i].data, sent[i].data, sent[i].bytes);
    }
  }
  void finish() override {}
  void check_transfer(std::string_view operation, std::int64_t count, int peer) const {
    check_count(operation, name_, count);
    check_peer(operation, name_, peer, 1);
    if (!CallGroup::open())
      throw internal_error("comm", "{} with oneself outside group_begin/end never ends", operation);
  }

  Stream& stream_;
  std::string name_;
  std::vector<Copy> copies_;  ///< of a group
  std::vector<Transfer<const void*>> sent_;
  std::vector<Transfer<void*>> wanted_;
  CallGroup group_{*this};
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator(Stream& stream, std::string name) {
  return std::make_unique<SelfCommunicator>(stream, std::move(name));
}

}  // namespace octet

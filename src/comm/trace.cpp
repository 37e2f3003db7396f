#include "src/comm/trace.h"

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/comm/call_group.h"
#include "src/profile/timeline.h"

namespace octet {
namespace {

/// Tells how long a message is waited for, on the CPU; elsewhere its call has told it. Its bytes are the call's.
class TracedTransfer final : public Transfer {
 public:
  TracedTransfer(std::unique_ptr<Transfer> inner, const SpanInfo& info, Stream& stream, WaitMeter* meter)
      : inner_(std::move(inner)), info_(info), stream_(stream), meter_(meter) {}
  void wait(Stream& stream) override {
    if (stream.device().type() != DeviceType::cpu) return inner_->wait(stream);
    if (meter_ != nullptr) meter_->begin(stream_);
    timed(stream_, info_, [&] { inner_->wait(stream); });
    if (meter_ != nullptr) meter_->end(stream_);
  }
  void poll() override { inner_->poll(); }

 private:
  std::unique_ptr<Transfer> inner_;
  SpanInfo info_;
  Stream& stream_;
  WaitMeter* meter_;
};

class TracedCommunicator final : public Communicator, private GroupMember {
 public:
  TracedCommunicator(std::unique_ptr<Communicator> inner, CommTrace* trace, WaitMeter* meter)
      : inner_(std::move(inner)), trace_(trace), meter_(meter) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  Stream& stream() const override { return inner_->stream(); }

  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    run("all_gather", count, dtype, size(), [&] { inner_->all_gather(send, recv, count, dtype); });
  }
  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    run("reduce_scatter", count, DType::f32, size(), [&] { inner_->reduce_scatter(send, recv, count); });
  }
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    run(name_of(op), count, dtype, 1, [&] { inner_->all_reduce(data, count, dtype, op); });
  }
  void all_reduce_to(const void* send, void* recv, std::int64_t count, DType dtype, ReduceOp op) override {
    run(name_of(op), count, dtype, 1, [&] { inner_->all_reduce_to(send, recv, count, dtype, op); });
  }
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) override {
    run("all_to_all", count, dtype, size(), [&] { inner_->all_to_all(send, recv, count, dtype); });
  }
  void broadcast(void* data, std::int64_t count, DType dtype, int root) override {
    run("broadcast", count, dtype, 1, [&] { inner_->broadcast(data, count, dtype, root); });
  }
  void broadcast_to(const void* send, void* recv, std::int64_t count, DType dtype, int root) override {
    run("broadcast", count, dtype, 1, [&] { inner_->broadcast_to(send, recv, count, dtype, root); });
  }
  void send(const void* data, std::int64_t count, DType dtype, int to) override {
    run("send", count, dtype, 1, [&] { inner_->send(data, count, dtype, to); });
  }
  void recv(void* data, std::int64_t count, DType dtype, int from) override {
    run("recv", count, dtype, 1, [&] { inner_->recv(data, count, dtype, from); });
  }
  std::unique_ptr<Transfer> start_send(const void* data, std::int64_t count, DType dtype, int to) override {
    return start("send", count, dtype, [&] { return inner_->start_send(data, count, dtype, to); });
  }
  std::unique_ptr<Transfer> start_recv(void* data, std::int64_t count, DType dtype, int from) override {
    return start("recv", count, dtype, [&] { return inner_->start_recv(data, count, dtype, from); });
  }
  void barrier() override {
    run("barrier", 0, DType::u8, 1, [&] { inner_->barrier(); });
  }
  void group_begin() override { inner_->group_begin(); }
  void group_end() override { inner_->group_end(); }
  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    return make_traced(inner_->split(color, key, std::move(name)), trace_, meter_);
  }
  std::unique_ptr<Communicator> alias(std::string name) override {
    return make_traced(inner_->alias(std::move(name)), trace_, meter_);
  }
  std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) override {
    return make_traced(inner_->on_stream(stream, std::move(name)), trace_, meter_);
  }
  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    return make_traced(inner_->split_by_node(std::move(name)), trace_, meter_);
  }
  MemorySource& memory() override { return inner_->memory(); }
  [[noreturn]] void abort(int exit_code) override {
    inner_->abort(exit_code);
    std::abort();  // gcc does not believe a virtual noreturn
  }

 private:
  /// The calls of a group are one span, named after the first; it lies where they start, at the outermost end.
  struct Group {
    SpanInfo info;
    std::size_t span = 0;
    std::int64_t bytes = 0;
    double bus_bytes = 0;
  };

  template <typename Call>
  void run(std::string_view operation, std::int64_t count, DType dtype, int pieces, Call&& call) {
    const std::int64_t bytes = pieces * count * size_of(dtype);
    if (trace_ != nullptr) {
      trace_->add({std::string(operation), name(), size(), dtype, count, bytes, std::string(UnitScope::current())},
                  CallGroup::open() && std::exchange(grouped_, true));
    }
    const SpanInfo info = span(operation);
    if (CallGroup::open()) {
      calls_.join();
      note(info, bytes);
      return call();
    }
    SpanInfo whole = info;
    whole.bytes = bytes;
    whole.bus_bytes = bus_bytes(operation, size(), bytes);
    if (metered()) meter_->begin(stream());
    timed(stream(), whole, call);
    if (metered()) meter_->end(stream());
  }

  template <typename Call>
  std::unique_ptr<Transfer> start(std::string_view operation, std::int64_t count, DType dtype, Call&& call) {
    std::unique_ptr<Transfer> transfer;
    run(operation, count, dtype, 1, [&] { transfer = call(); });
    return std::make_unique<TracedTransfer>(std::move(transfer), span(operation), stream(),
                                            metered() ? meter_ : nullptr);
  }

  static const char* name_of(ReduceOp op) { return op == ReduceOp::sum ? "all_reduce_sum" : "all_reduce_max"; }
  SpanInfo span(std::string_view operation) const {
    return {.name = operation, .kind = SpanKind::communication, .group = name()};
  }
  bool metered() const { return meter_ != nullptr && size() > 1; }

  void note(const SpanInfo& info, std::int64_t bytes) {
    if (Timeline::recording() == nullptr) return;
    if (!group_) group_ = Group{.info = info};
    group_->bytes += bytes;
    group_->bus_bytes += bus_bytes(info.name, size(), bytes);
  }
  void start() override {
    grouped_ = false;
    if (metered()) meter_->begin(stream());
    if (group_) group_->span = Timeline::recording()->open(stream(), group_->info);
  }
  void finish() override {
    if (group_) {
      Timeline& timeline = *Timeline::recording();
      timeline.add_bytes(group_->span, group_->bytes, group_->bus_bytes);
      timeline.close(group_->span, stream());
      group_.reset();
    }
    if (metered()) meter_->end(stream());
  }

  std::unique_ptr<Communicator> inner_;
  CommTrace* trace_;
  WaitMeter* meter_;
  bool grouped_ = false;        ///< has calls in the group that is open
  std::optional<Group> group_;  ///< with calls in it, while a Timeline records
  CallGroup calls_{*this};
};

bool matches(const CommRecord& r, std::string_view operation, std::string_view group) {
  return r.operation == operation && (group.empty() || r.group == group);
}

}  // namespace

std::unique_ptr<Communicator> make_traced(std::unique_ptr<Communicator> inner, CommTrace* trace, WaitMeter* meter) {
  if (trace == nullptr && meter == nullptr && Timeline::current() == nullptr) return inner;
  return std::make_unique<TracedCommunicator>(std::move(inner), trace, meter);
}

double bus_bytes(std::string_view operation, int ranks, std::int64_t bytes) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  if (operation == "recv") return 0;
  if (operation == "broadcast" || operation == "send") {
    return ranks == 1 ? 0 : static_cast<double>(bytes);
  }
  return static_cast<double>(bytes) * others * (operation.starts_with("all_reduce") ? 2 : 1);
}

std::vector<std::span<const CommRecord>> CommTrace::starts() const {
  std::vector<std::span<const CommRecord>> all;
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    const std::size_t end = i + 1 < starts_.size() ? starts_[i + 1] : records_.size();
    all.push_back(std::span(records_).subspan(starts_[i], end - starts_[i]));
  }
  return all;
}

std::int64_t CommTrace::calls(std::string_view operation, std::string_view group) const {
  std::int64_t n = 0;
  for (const CommRecord& r : records_) n += matches(r, operation, group) ? 1 : 0;
  return n;
}

std::int64_t CommTrace::bytes(std::string_view operation, std::string_view group) const {
  std::int64_t n = 0;
  for (const CommRecord& r : records_) n += matches(r, operation, group) ? r.bytes : 0;
  return n;
}

std::string CommTrace::json_lines() const {
  std::string text;
  for (const CommRecord& r : records_) {
    const nlohmann::ordered_json line = {
        {"operation", r.operation}, {"group", r.group}, {"ranks", r.ranks}, {"dtype", std::string(name_of(r.dtype))},
        {"count", r.count},         {"bytes", r.bytes}, {"unit", r.unit}};
    text += line.dump() + '\n';
  }
  return text;
}

void CommTrace::write(const std::string& path) const {
  if (overwrite_text(path, json_lines())) return;
  throw not_written("comm", "comm.trace: " + path);
}

}  // namespace octet

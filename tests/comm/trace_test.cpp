#include "src/comm/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/profile/timeline.h"

namespace octet {
namespace {

class Trace : public testing::Test {
 protected:
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  CommTrace trace_;
  std::unique_ptr<Communicator> comm_ = make_traced(make_mpi_communicator(*stream_, "world"), &trace_);
  const int size_ = comm_->size();
  std::vector<float> a_ = std::vector<float>(static_cast<std::size_t>(size_) * 4, 1.0f), b_ = a_;
};

TEST_F(Trace, RecordsEveryKindOfCall) {
  const auto n = static_cast<std::int64_t>(size_);
  comm_->all_gather(a_.data(), b_.data(), 3, DType::bf16);
  comm_->reduce_scatter(a_.data(), b_.data(), 4);
  comm_->all_reduce(a_.data(), 2, DType::f32, ReduceOp::sum);
  comm_->all_reduce(a_.data(), 1, DType::i32, ReduceOp::max);
  comm_->all_to_all(a_.data(), b_.data(), 2, DType::e4m3);
  comm_->broadcast(a_.data(), 5, DType::u8, 0);
  comm_->all_reduce_to(a_.data(), b_.data(), 2, DType::f32, ReduceOp::sum);
  comm_->broadcast_to(a_.data(), b_.data(), 5, DType::u8, 0);
  comm_->barrier();
  comm_->group_begin();
  comm_->send(a_.data(), 1, DType::f32, (comm_->rank() + 1) % size_);
  comm_->recv(b_.data(), 1, DType::f32, (comm_->rank() + size_ - 1) % size_);
  comm_->group_end();
  const std::vector<CommRecord> expected{{"all_gather", "world", size_, DType::bf16, 3, 6 * n, ""},
                                         {"reduce_scatter", "world", size_, DType::f32, 4, 16 * n, ""},
                                         {"all_reduce_sum", "world", size_, DType::f32, 2, 8, ""},
                                         {"all_reduce_max", "world", size_, DType::i32, 1, 4, ""},
                                         {"all_to_all", "world", size_, DType::e4m3, 2, 2 * n, ""},
                                         {"broadcast", "world", size_, DType::u8, 5, 5, ""},
                                         {"all_reduce_sum", "world", size_, DType::f32, 2, 8, ""},
                                         {"broadcast", "world", size_, DType::u8, 5, 5, ""},
                                         {"barrier", "world", size_, DType::u8, 0, 0, ""},
                                         {"send", "world", size_, DType::f32, 1, 4, ""},
                                         {"recv", "world", size_, DType::f32, 1, 4, ""}};
  EXPECT_EQ(trace_.records(), expected);
}

TEST_F(Trace, RecordsMessagesWhereTheyBegin) {
  if (size_ == 1) GTEST_SKIP() << "needs two ranks";
  const int next = (comm_->rank() + 1) % size_, previous = (comm_->rank() + size_ - 1) % size_;
  const auto coming = comm_->start_recv(b_.data(), 2, DType::bf16, previous);
  const auto going = comm_->start_send(a_.data(), 2, DType::bf16, next);
  for (Transfer* t : {coming.get(), going.get()}) t->wait(comm_->stream());
  EXPECT_EQ(trace_.records(), (std::vector<CommRecord>{{"recv", "world", size_, DType::bf16, 2, 4, ""},
                                                       {"send", "world", size_, DType::bf16, 2, 4, ""}}));
}

TEST_F(Trace, NamesTheUnitAndFollowsSplits) {
  const auto part = comm_->split(0, comm_->rank(), "dp_shard");
  {
    const UnitScope outer("layers.0");
    part->barrier();
    {
      const UnitScope inner("norm");
      part->barrier();
    }
    part->barrier();
  }
  comm_->barrier();
  std::vector<std::string> units;
  for (const CommRecord& r : trace_.records()) units.push_back(r.group + "/" + r.unit);
  EXPECT_EQ(units, (std::vector<std::string>{"dp_shard/layers.0", "dp_shard/norm", "dp_shard/layers.0", "world/"}));
  EXPECT_EQ(trace_.calls("barrier"), 4);
  EXPECT_EQ(trace_.calls("barrier", "dp_shard"), 3);
  EXPECT_EQ(trace_.calls("all_gather"), 0);
  trace_.clear();
  EXPECT_EQ(trace_.calls("barrier"), 0);
}

TEST_F(Trace, CountsBytes) {
  comm_->all_gather(a_.data(), b_.data(), 1, DType::f32);
  comm_->all_gather(a_.data(), b_.data(), 3, DType::u8);
  EXPECT_EQ(trace_.bytes("all_gather"), 7 * size_);
  EXPECT_EQ(trace_.bytes("all_gather", "dp"), 0);
}

TEST_F(Trace, WritesJsonLines) {
  const UnitScope unit("a \"quoted\" name");
  comm_->all_gather(a_.data(), b_.data(), 2, DType::e5m2);
  comm_->barrier();
  const std::string path = testing::TempDir() + "octet-trace-" + std::to_string(getpid()) + ".jsonl";
  trace_.write(path);
  std::ifstream file(path);
  std::string first, second, third;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_FALSE(std::getline(file, third));
  std::remove(path.c_str());
  const auto line = nlohmann::json::parse(first);
  const nlohmann::json expected = {
      {"operation", "all_gather"}, {"group", "world"},           {"ranks", size_}, {"dtype", "e5m2"}, {"count", 2},
      {"bytes", 2 * size_},        {"unit", "a \"quoted\" name"}};
  EXPECT_EQ(line, expected);
  EXPECT_EQ(nlohmann::json::parse(second)["operation"], "barrier");
}

TEST_F(Trace, SaysWhereItCannotWrite) {
  try {
    trace_.write("/nowhere/trace.jsonl");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    EXPECT_NE(std::string(e.what()).find("/nowhere/trace.jsonl"), std::string::npos);
  }
}

TEST_F(Trace, WithoutATraceTheCommunicatorIsUnchanged) {
  auto plain = make_self_communicator(*stream_, "self");
  Communicator* const before = plain.get();
  EXPECT_EQ(make_traced(std::move(plain), nullptr).get(), before);
}

/// With a Timeline the calls are spans too, also without a trace; those of a group are one.
TEST(CommSpans, CarryWhatTheCallsDo) {
  const auto stream = cpu_device().make_stream();
  Timeline timeline(*stream);
  const auto world = make_traced(make_mpi_communicator(*stream, "world"), nullptr);
  const auto part = world->split(0, world->rank(), "dp_shard");
  const int n = world->size();
  std::vector<float> a(static_cast<std::size_t>(n) * 4, 1.0f), b = a;
  timeline.begin();
  timeline.begin_step(1);
  {
    const UnitScope unit("block.1");
    part->group_begin();
    part->all_gather(a.data(), b.data(), 3, DType::bf16);
    part->all_gather(a.data(), b.data() + 2 * n, 2, DType::f32);
    part->group_end();
  }
  world->all_reduce(a.data(), 2, DType::f32, ReduceOp::max);
  part->group_begin();
  part->group_end();
  const Recording r = timeline.end();
  ASSERT_EQ(r.spans.size(), 2u);
  EXPECT_EQ(r.spans[0].name, "all_gather");
  EXPECT_EQ(r.spans[0].kind, SpanKind::communication);
  EXPECT_EQ(r.spans[0].group, "dp_shard");
  EXPECT_EQ(r.spans[0].unit, "block.1");
  EXPECT_EQ(r.spans[0].bytes, 6 * n + 8 * n);
  EXPECT_DOUBLE_EQ(r.spans[0].bus_bytes, 14.0 * (n - 1));
  EXPECT_EQ(r.spans[1].name, "all_reduce_max");
  EXPECT_EQ(r.spans[1].group, "world");
  EXPECT_EQ(r.spans[1].bytes, 8);
  EXPECT_DOUBLE_EQ(r.spans[1].bus_bytes, 16.0 * (n - 1) / n);
}

/// On the CPU the wait for a message is a span too, whose bytes are those of its call.
TEST(CommSpans, CountAMessageOnce) {
  const auto stream = cpu_device().make_stream();
  Timeline timeline(*stream);
  const auto world = make_traced(make_mpi_communicator(*stream, "world"), nullptr);
  if (world->size() == 1) GTEST_SKIP() << "needs two ranks";
  const int next = (world->rank() + 1) % world->size(), previous = (world->rank() + world->size() - 1) % world->size();
  const float going = 1;
  float coming = 0;
  timeline.begin();
  timeline.begin_step(1);
  const auto received = world->start_recv(&coming, 1, DType::f32, previous);
  const auto sent = world->start_send(&going, 1, DType::f32, next);
  for (Transfer* t : {received.get(), sent.get()}) t->wait(*stream);
  std::int64_t bytes = 0;
  double bus = 0;
  const Recording r = timeline.end();
  for (const Span& s : r.spans) {
    bytes += s.bytes;
    bus += s.bus_bytes;
  }
  EXPECT_EQ(r.spans.size(), 4u);
  EXPECT_EQ(bytes, 8);
  EXPECT_DOUBLE_EQ(bus, 4);
}

/// The span of a group within another lies where its calls start: at the outermost end.
TEST(CommSpans, OfGroupsWithinGroupsBeginAtTheOutermostEnd) {
  const auto stream = cpu_device().make_stream();
  Timeline timeline(*stream);
  const auto world = make_traced(make_mpi_communicator(*stream, "world"), nullptr);
  const auto part = world->split(0, world->rank(), "dp_shard");
  std::vector<float> a(static_cast<std::size_t>(world->size()), 1.0f), b = a;
  timeline.begin();
  timeline.begin_step(1);
  world->group_begin();
  part->group_begin();
  part->all_gather(a.data(), b.data(), 1, DType::f32);
  part->group_end();
  { const HostSpan between("between"); }
  world->all_reduce(a.data(), 1, DType::f32, ReduceOp::max);
  world->group_end();
  const Recording r = timeline.end();
  ASSERT_EQ(r.spans.size(), 3u);
  for (const char* group : {"dp_shard", "world"}) {
    const auto of_group = std::ranges::find_if(r.spans, [&](const auto& s) { return s.group == group; });
    const auto between = std::ranges::find_if(r.spans, [](const auto& s) { return s.name == "between"; });
    ASSERT_TRUE(of_group != r.spans.end() && between != r.spans.end());
    EXPECT_GE(of_group->begin, between->end) << group;
    EXPECT_EQ(of_group->bytes, std::string_view(group) == "world" ? 4 : 4 * world->size());
  }
}

TEST(BusBytes, AreByTheFactorsOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_bytes("all_gather", 4, 400), 300);
  EXPECT_DOUBLE_EQ(bus_bytes("reduce_scatter", 4, 400), 300);
  EXPECT_DOUBLE_EQ(bus_bytes("all_to_all", 2, 400), 200);
  EXPECT_DOUBLE_EQ(bus_bytes("all_reduce_sum", 4, 400), 600);
  EXPECT_DOUBLE_EQ(bus_bytes("broadcast", 4, 400), 400);
  EXPECT_DOUBLE_EQ(bus_bytes("send", 2, 400), 400);
  EXPECT_DOUBLE_EQ(bus_bytes("recv", 2, 400), 0) << "it counts where it is sent";
  for (const char* operation : {"all_gather", "all_reduce_max", "broadcast"}) {
    EXPECT_DOUBLE_EQ(bus_bytes(operation, 1, 400), 0) << operation;
  }
}

}  // namespace
}  // namespace octet

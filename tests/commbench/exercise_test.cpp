// What a collective must bring, and that a wrong element is found, whichever it is.
#include "jobs/commbench/exercise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "jobs/commbench/bench_context.h"

namespace octet::commbench {
namespace {

std::vector<float> numbers(Pattern& pattern, int source, std::int64_t begin, std::int64_t n) {
  std::vector<float> out(static_cast<std::size_t>(n));
  pattern.write(out.data(), DType::f32, source, begin, n);
  return out;
}

TEST(Pattern, SumsAndMaximaAreThoseOfTheRanks) {
  for (const int ranks : {1, 2, 3, 64}) {
    Pattern pattern(ranks, 7);
    for (const std::int64_t begin : {0, 1, 1020, 1'000'000'007}) {
      constexpr std::int64_t n = 2500;
      std::vector<float> sum(n, 0.0f), most(n, -1.0f);
      for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<float> part = numbers(pattern, rank, begin, n);
        for (std::size_t i = 0; i < part.size(); ++i) {
          EXPECT_TRUE(part[i] >= 0 && part[i] <= 254 && part[i] == std::floor(part[i]));
          sum[i] += part[i];
          most[i] = std::max(most[i], part[i]);
        }
      }
      EXPECT_EQ(numbers(pattern, Pattern::sum, begin, n), sum);
      EXPECT_EQ(numbers(pattern, Pattern::maximum, begin, n), most);
    }
  }
}

TEST(Pattern, AllTypesHoldTheSameNumbers) {
  Pattern pattern(3, 7);
  constexpr std::int64_t n = 3000;
  const std::vector<float> expected = numbers(pattern, 2, 5, n);
  std::vector<bf16> halves(n);
  std::vector<std::int32_t> integers(n);
  std::vector<std::uint8_t> bytes(n);
  pattern.write(halves.data(), DType::bf16, 2, 5, n);
  pattern.write(integers.data(), DType::i32, 2, 5, n);
  pattern.write(bytes.data(), DType::e4m3, 2, 5, n);
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(static_cast<float>(halves[i]), expected[i]);
    EXPECT_EQ(static_cast<float>(integers[i]), expected[i]);
    EXPECT_EQ(static_cast<float>(bytes[i]), expected[i]);
  }
}

TEST(Pattern, RanksSeedsAndPlacesDiffer) {
  Pattern pattern(4, 7), other(4, 8);
  const std::vector<float> x = numbers(pattern, 0, 0, 4000);
  const auto equal = [&](const std::vector<float>& y) {
    int n = 0;
    for (std::size_t i = 0; i < x.size(); ++i) n += x[i] == y[i] ? 1 : 0;
    return n;
  };
  EXPECT_LT(equal(numbers(pattern, 1, 0, 4000)), 200);
  EXPECT_LT(equal(numbers(pattern, 0, 1, 4000)), 200);
  EXPECT_LT(equal(numbers(pattern, 0, 1021, 4000)), 200) << "the period of the ranks' weights";
  EXPECT_LT(equal(numbers(other, 0, 0, 4000)), 200);
}

TEST(Pattern, SumsThatWouldNotBeExactAreRefused) {
  EXPECT_THROW(Pattern(65537, 1), Error);
  bf16 x;
  EXPECT_THROW(Pattern(2, 1).write(&x, DType::bf16, Pattern::sum, 0, 1), Error);
}

/// A group of one that does its work and then changes one byte of what came.
class Faulty final : public Communicator {
 public:
  explicit Faulty(Stream& stream) : inner_(make_self_communicator(stream, "faulty")) {}
  std::int64_t wrong_byte = -1;  ///< of the output of the next call; none

  int rank() const override { return 0; }
  int size() const override { return 1; }
  const std::string& name() const override { return inner_->name(); }
  Stream& stream() const override { return inner_->stream(); }
  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    inner_->all_gather(send, recv, count, dtype);
    spoil(recv);
  }
  void reduce_scatter(const float* send, float* recv, std::int64_t count) override {
    inner_->reduce_scatter(send, recv, count);
    spoil(recv);
  }
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    inner_->all_reduce(data, count, dtype, op);
    spoil(data);
  }
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype) override {
    inner_->all_to_all(send, recv, count, dtype);
    spoil(recv);
  }
  void broadcast(void* data, std::int64_t count, DType dtype, int root) override {
    inner_->broadcast(data, count, dtype, root);
    spoil(data);
  }
  void send(const void* data, std::int64_t count, DType dtype, int to) override {
    inner_->send(data, count, dtype, to);
  }
  void recv(void* data, std::int64_t count, DType dtype, int from) override {
    inner_->recv(data, count, dtype, from);
    received_ = data;
  }
  void barrier() override {}
  void group_begin() override { inner_->group_begin(); }
  void group_end() override {
    inner_->group_end();
    if (received_ != nullptr) spoil(std::exchange(received_, nullptr));
  }
  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    return inner_->split(color, key, std::move(name));
  }
  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    return inner_->split_by_node(std::move(name));
  }
  std::unique_ptr<Communicator> alias(std::string name) override { return inner_->alias(std::move(name)); }
  std::unique_ptr<Communicator> on_stream(Stream& stream, std::string name) override {
    return inner_->on_stream(stream, std::move(name));
  }
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

 private:
  void spoil(void* data) {
    if (wrong_byte >= 0) static_cast<unsigned char*>(data)[wrong_byte] ^= 1;
  }
  std::unique_ptr<Communicator> inner_;
  void* received_ = nullptr;
};

CommRecord call(const std::string& operation, std::int64_t count) {
  CommRecord record;
  record.operation = operation;
  record.dtype = DType::f32;
  record.count = count;
  return record;
}

/// Bytes of an output in each form of the operation; -1: none.
std::vector<std::pair<Form, std::int64_t>> forms_and_bytes(const std::string& operation, std::int64_t bytes) {
  std::vector<std::pair<Form, std::int64_t>> out;
  for (const Form form : {Form::training, Form::out_of_place, Form::in_place}) {
    if (form != Form::training && operation == "recv") continue;
    for (const std::int64_t byte : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1'500'000}, bytes - 1}) {
      out.emplace_back(form, byte);
    }
  }
  return out;
}

TEST(Exercise, OneWrongByteAnywhereIsFound) {
  const auto stream = cpu_device().make_stream();
  Faulty comm(*stream);
  constexpr std::int64_t count = 700'001;  // several chunks
  for (const std::string operation :
       {"all_gather", "reduce_scatter", "all_reduce_sum", "all_reduce_max", "all_to_all", "broadcast", "recv"}) {
    std::vector<CommRecord> calls{call(operation, count)};
    if (operation == "recv") calls.insert(calls.begin(), call("send", count));
    for (const auto& [form, byte] : forms_and_bytes(operation, 4 * count)) {
      SCOPED_TRACE(fmt::format("{} {}", operation, static_cast<int>(form)));
      Exercise exercise(comm, calls, form);
      Pattern pattern(1, 3);
      exercise.fill(pattern);
      comm.wrong_byte = byte;
      exercise.run(comm);
      EXPECT_EQ(exercise.count_wrong(pattern), byte < 0 ? 0 : 1) << byte;
    }
  }
}

TEST(Exercise, WhatIsNotWrittenIsFound) {
  const auto stream = cpu_device().make_stream();
  Faulty comm(*stream);
  const auto expect_found = [&](const std::string& operation, Form form) {
    Exercise exercise(comm, {call(operation, 100)}, form);
    Pattern pattern(1, 3);
    exercise.fill(pattern);
    EXPECT_EQ(exercise.count_wrong(pattern), 100) << operation;
  };
  for (const char* operation : {"reduce_scatter", "all_to_all", "recv"}) expect_found(operation, Form::training);
  for (const char* operation :
       {"all_gather", "reduce_scatter", "all_to_all", "all_reduce_sum", "all_reduce_max", "broadcast"}) {
    expect_found(operation, Form::out_of_place);
  }
}

TEST(Exercise, FormsAreThoseOfMemory) {
  for (const char* operation : {"all_gather", "all_reduce_sum", "broadcast"}) {
    EXPECT_TRUE(is_in_place(operation, Form::training)) << operation;
  }
  for (const char* operation : {"reduce_scatter", "all_to_all", "send"}) {
    EXPECT_FALSE(is_in_place(operation, Form::training)) << operation;
  }
  const auto copies = [](const char* operation, Form form) {
    return std::pair(needs_copy(operation, form, DeviceType::cpu), needs_copy(operation, form, DeviceType::cuda));
  };
  using Both = std::pair<bool, bool>;
  EXPECT_EQ(copies("all_reduce_sum", Form::out_of_place), Both(true, false));
  EXPECT_EQ(copies("broadcast", Form::out_of_place), Both(true, false));
  EXPECT_EQ(copies("reduce_scatter", Form::in_place), Both(true, false));
  EXPECT_EQ(copies("all_to_all", Form::in_place), Both(true, true));
  EXPECT_EQ(copies("all_gather", Form::out_of_place), Both(false, false));
  // 100 floats a rank of 4: what is in place takes the larger buffer, and what it copies.
  const std::vector<CommRecord> gather{call("all_gather", 100)}, scatter{call("reduce_scatter", 100)};
  EXPECT_EQ(Exercise::bytes(gather, 4, Form::in_place), 1792);
  EXPECT_EQ(Exercise::bytes(gather, 4, Form::out_of_place), 1792 + 512);
  EXPECT_EQ(Exercise::bytes(scatter, 4, Form::in_place), 1792 + 512);
}

TEST(Exercise, AnUnknownOperationIsRefused) {
  const auto stream = cpu_device().make_stream();
  const auto comm = make_self_communicator(*stream, "self");
  EXPECT_THROW(Exercise(*comm, {call("scan", 1)}), Error);
}

TEST(Sweep, SizesAreThoseOfTheLargerBuffer) {
  const CommRecord gather = sweep_call("all_gather", DType::bf16, 8, 1 << 20);
  EXPECT_EQ(gather.count, (1 << 20) / 8 / 2);
  EXPECT_EQ(gather.bytes, 1 << 20);
  const CommRecord reduce = sweep_call("all_reduce", DType::bf16, 8, 1000);
  EXPECT_EQ(std::tuple(reduce.operation, reduce.dtype, reduce.count, reduce.bytes),
            std::tuple("all_reduce_sum", DType::f32, 250, 1000));
  EXPECT_EQ(sweep_call("all_to_all", DType::u8, 64, 8).bytes, 64) << "an element a rank at least";
}

// AllGatherGetCollByteCount of nccl-tests: (count / ranks) & ~(16 / size of an element - 1).
TEST(Sweep, SharesAreWhole16BytesAsInNcclTests) {
  EXPECT_EQ(sweep_call("all_gather", DType::f32, 3, 64 << 10).bytes, 65520);
  EXPECT_EQ(sweep_call("reduce_scatter", DType::f32, 3, 64 << 10).bytes, 65520);
  EXPECT_EQ(sweep_call("all_to_all", DType::u8, 3, 1000).bytes, 3 * 320);
  EXPECT_EQ(sweep_call("all_gather", DType::bf16, 3, 100).bytes, 3 * 32);
  EXPECT_EQ(sweep_call("all_gather", DType::f32, 3, 40).bytes, 3 * 12) << "below 16 bytes a rank: elements";
  EXPECT_EQ(sweep_call("all_reduce", DType::f32, 3, 65532).bytes, 65532);
  EXPECT_EQ(sweep_call("broadcast", DType::u8, 3, 65535).bytes, 65535);
}

TEST(Timing, MedianAndPercentileAreNearestRanks) {
  std::vector<double> us;
  for (int i = 20; i >= 1; --i) us.push_back(i);
  const Timing timing = timing_of(us, 10.5);
  EXPECT_EQ(timing.median(), 10);
  EXPECT_EQ(timing.p95(), 19);
  EXPECT_EQ(timing_of({3}, 3).p95(), 3);
}

TEST(Members, AreThoseOfTheMesh) {
  const MeshShape shape{.dp_replicate = 2, .dp_shard = 3, .tp = 2};
  EXPECT_EQ(members(shape, "tp", 5), (std::vector{4, 5}));
  EXPECT_EQ(members(shape, "dp_shard", 5), (std::vector{1, 3, 5}));
  EXPECT_EQ(members(shape, "dp_replicate", 5), (std::vector{5, 11}));
  EXPECT_EQ(members(shape, "dp", 5), (std::vector{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(members(shape, "replica", 5), (std::vector{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(members(shape, "world", 5).size(), 12U);
}

}  // namespace
}  // namespace octet::commbench

#pragma once

#include "tests/comm/contract_fixture.h"

/// The contract's messages, groups of calls, and what is made of a communicator.
namespace octet {
namespace {

TEST_P(Contract, RingInAGroup) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  for (const DType dtype : all_dtypes) {
    for (const std::int64_t count : counts) {
      const Bytes mine = pattern(rank_, next, count * size_of(dtype));
      Bytes received(mine.size(), 0xEE);
      comm_->group_begin();
      comm_->recv(received.data(), count, dtype, previous);
      comm_->send(mine.data(), count, dtype, next);
      comm_->group_end();
      EXPECT_EQ(received, pattern(previous, rank_, count * size_of(dtype))) << name_of(dtype) << " " << count;
    }
  }
}

TEST_P(Contract, SendAndReceiveAlongAChain) {
  for (const std::int64_t count : counts) {
    Bytes data = pattern(0, 0, count);
    if (rank_ > 0) {
      std::fill(data.begin(), data.end(), std::uint8_t{0});
      comm_->recv(data.data(), count, DType::u8, rank_ - 1);
    }
    if (rank_ + 1 < size_) comm_->send(data.data(), count, DType::u8, rank_ + 1);
    EXPECT_EQ(data, pattern(0, 0, count)) << count;
  }
}

/// As between the stages of a pipeline: what is to come has begun before what came is passed on.
TEST_P(Contract, MessagesAreUnderWayBesideEachOther) {
  for (const std::int64_t count : counts) {
    std::vector<Bytes> data{pattern(0, 1, count), pattern(0, 2, count), pattern(0, 3, count)};
    const std::vector<Bytes> expected = data;
    std::vector<std::unique_ptr<Transfer>> coming, going;
    for (Bytes& d : data) {
      if (rank_ == 0) continue;
      std::fill(d.begin(), d.end(), std::uint8_t{0});
      coming.push_back(comm_->start_recv(d.data(), count, DType::u8, rank_ - 1));
    }
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (rank_ > 0) coming[i]->poll();
      if (rank_ > 0) coming[i]->wait(comm_->stream());
      if (rank_ + 1 < size_) going.push_back(comm_->start_send(data[i].data(), count, DType::u8, rank_ + 1));
    }
    for (const auto& transfer : going) transfer->wait(comm_->stream());
    comm_->stream().synchronize();
    EXPECT_EQ(data, expected) << count;
  }
}

TEST_P(Contract, AMessageDoesNotBeginWithinAGroupOfCalls) {
  if (size_ == 1) return;
  const int other = rank_ == 0 ? 1 : 0;
  comm_->group_begin();
  EXPECT_THROW((void)comm_->start_send(nullptr, 0, DType::u8, other), Error);
  EXPECT_THROW((void)comm_->start_recv(nullptr, 0, DType::u8, other), Error);
  comm_->group_end();
}

TEST_P(Contract, GroupHoldsManyCalls) {
  // As FSDP's: the parameters of a unit, of several sizes and types; then their gradients, and a few others between.
  const std::vector<std::int64_t> sizes{1, 150'001, 0, 33, 4096};
  std::vector<Bytes> gathered;
  std::vector<std::vector<float>> gradients, shards;
  for (const std::int64_t n : sizes) {
    gathered.emplace_back(static_cast<std::size_t>(n * size_), 0xEE);
    gradients.push_back(awkward(rank_, 0, n * size_));
    shards.emplace_back(static_cast<std::size_t>(n));
  }
  std::vector<float> norm = awkward(rank_, 0, 5);
  Bytes message = pattern(rank_, 3, 1000);
  comm_->group_begin();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::uint8_t* own = gathered[i].data() + rank_ * sizes[i];
    const Bytes mine = pattern(rank_, static_cast<int>(i), sizes[i]);
    std::copy(mine.begin(), mine.end(), own);
    comm_->all_gather(own, gathered[i].data(), sizes[i], DType::e4m3);
    comm_->reduce_scatter(gradients[i].data(), shards[i].data(), sizes[i]);
    if (i == 1) comm_->all_reduce(norm.data(), 5, DType::f32, ReduceOp::sum);
    if (i == 2) comm_->broadcast(message.data(), 1000, DType::u8, size_ - 1);
    if (i == 3) comm_->barrier();
  }
  comm_->group_begin();  // nesting ends with the outermost
  comm_->group_end();
  comm_->group_end();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Bytes expected;
    for (int r = 0; r < size_; ++r) append(expected, pattern(r, static_cast<int>(i), sizes[i]));
    EXPECT_EQ(gathered[i], expected) << i;
    EXPECT_TRUE(is_sum(shards[i].data(), rank_ * sizes[i], sizes[i])) << i;
  }
  EXPECT_TRUE(is_sum(norm.data(), 0, 5));
  EXPECT_EQ(message, pattern(size_ - 1, 3, 1000));
}

TEST_P(Contract, WrongCallsAreRefused) {
  char x = 0;
  EXPECT_THROW(comm_->group_end(), Error);
  EXPECT_THROW(comm_->all_gather(&x, &x, -1, DType::u8), Error);
  EXPECT_THROW(comm_->broadcast(&x, 1, DType::u8, size_), Error);
  EXPECT_THROW(comm_->send(&x, 1, DType::u8, -1), Error);
  EXPECT_THROW(comm_->send(&x, 1, DType::u8, rank_), Error);
  comm_->barrier();
}

TEST_P(Contract, SplitOrdersByKeyAndSeparatesColours) {
  const int color = rank_ % 2;
  const auto part = comm_->split(color, -rank_, "part");
  EXPECT_EQ(part->name(), "part");
  const int members = color == 0 ? (size_ + 1) / 2 : size_ / 2;
  ASSERT_EQ(part->size(), members);
  EXPECT_EQ(part->rank(), members - 1 - rank_ / 2);
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(members), -1);
  part->all_gather(&rank_, ranks.data(), 1, DType::i32);
  for (int i = 0; i < members; ++i) EXPECT_EQ(ranks[static_cast<std::size_t>(i)], color + 2 * (members - 1 - i));
}

TEST_P(Contract, SplitWithEqualKeysKeepsTheOrder) {
  const auto copy = comm_->split(3, 0, "copy");
  EXPECT_EQ(copy->rank(), rank_);
  EXPECT_EQ(copy->size(), size_);
}

TEST_P(Contract, OnAnotherStream) {
  const auto stream = cpu_device().make_stream();
  const auto other = comm_->on_stream(*stream, "other");
  EXPECT_EQ(&other->stream(), stream.get());
  EXPECT_EQ(other->name(), "other");
  EXPECT_EQ(other->rank(), rank_);
  ASSERT_EQ(other->size(), size_);
  std::int32_t a = rank_, b = 10 * rank_;
  other->all_reduce(&a, 1, DType::i32, ReduceOp::max);
  comm_->all_reduce(&b, 1, DType::i32, ReduceOp::max);
  EXPECT_EQ(a, size_ - 1);
  EXPECT_EQ(b, 10 * (size_ - 1));
}

/// Alone, beside that which it is an alias of, with it in a group of calls, and when that is gone.
TEST_P(Contract, AnAliasIsTheSameRanksByAnotherName) {
  const auto other = comm_->alias("other");
  EXPECT_EQ(other->name(), "other");
  EXPECT_NE(comm_->name(), "other");
  EXPECT_EQ(other->rank(), rank_);
  EXPECT_EQ(other->size(), size_);
  EXPECT_EQ(&other->stream(), &comm_->stream());
  const std::vector<float> ones(static_cast<std::size_t>(size_), 1.0f);
  for (const bool grouped : {false, true}) {
    std::int32_t largest = rank_, sum = rank_;
    float shard = 0;
    if (grouped) other->group_begin();
    other->all_reduce(&largest, 1, DType::i32, ReduceOp::max);
    comm_->all_reduce(&sum, 1, DType::i32, ReduceOp::sum);
    other->reduce_scatter(ones.data(), &shard, 1);
    if (grouped) other->group_end();
    EXPECT_EQ(largest, size_ - 1);
    EXPECT_EQ(sum, size_ * (size_ - 1) / 2);
    EXPECT_EQ(shard, static_cast<float>(size_));
  }
  const auto half = other->split(rank_ / 2, rank_, "half");
  EXPECT_EQ(half->size(), std::min(2, size_ - rank_ / 2 * 2));
  comm_.reset();
  std::int32_t last = rank_;
  other->alias("third")->broadcast(&last, 1, DType::i32, size_ - 1);
  EXPECT_EQ(last, size_ - 1);
}

TEST_P(Contract, SplitIntoSingleRanks) {
  const auto alone = comm_->split(size_ - rank_, 0, "alone");
  EXPECT_EQ(alone->rank(), 0);
  EXPECT_EQ(alone->size(), 1);
  std::int32_t x = rank_;
  alone->all_reduce(&x, 1, DType::i32, ReduceOp::sum);
  EXPECT_EQ(x, rank_);
}

TEST_P(Contract, GroupsDoNotMixTheirMessages) {
  const auto other = comm_->split(0, rank_, "other");
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  std::int32_t a = rank_, b = -rank_ - 1, from_a = 0, from_b = 0;
  comm_->group_begin();
  other->group_begin();
  comm_->send(&a, 1, DType::i32, next);
  other->send(&b, 1, DType::i32, next);
  other->recv(&from_b, 1, DType::i32, previous);
  comm_->recv(&from_a, 1, DType::i32, previous);
  other->group_end();
  comm_->group_end();
  EXPECT_EQ(from_a, previous);
  EXPECT_EQ(from_b, -previous - 1);
}

/// Of every kind of call, of two communicators and in groups within groups: nothing has begun before the outermost end.
TEST_P(Contract, EveryCallStartsAtTheOutermostEnd) {
  const auto other = comm_->split(0, rank_, "other");
  const auto n = static_cast<std::size_t>(size_);
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  const std::vector<std::int32_t> untouched(n, -7), mine(n, rank_);
  std::vector<std::int32_t> gathered = untouched, exchanged = untouched;
  std::int32_t sum = rank_, broadcast = rank_, received = -7;
  float shard = -7;
  const std::vector<float> gradients(n, 1.0f);
  const auto nothing_has_happened = [&] {
    return gathered == untouched && exchanged == untouched && sum == rank_ && broadcast == rank_ && received == -7 &&
           shard == -7;
  };
  comm_->group_begin();
  other->all_gather(mine.data(), gathered.data(), 1, DType::i32);  // outside of its own group
  other->group_begin();
  other->all_to_all(mine.data(), exchanged.data(), 1, DType::i32);
  comm_->all_reduce(&sum, 1, DType::i32, ReduceOp::sum);
  other->send(&rank_, 1, DType::i32, next);
  other->recv(&received, 1, DType::i32, previous);
  EXPECT_TRUE(nothing_has_happened());
  other->group_end();
  EXPECT_TRUE(nothing_has_happened());
  other->broadcast(&broadcast, 1, DType::i32, size_ - 1);
  comm_->reduce_scatter(gradients.data(), &shard, 1);
  comm_->group_begin();
  comm_->group_end();
  EXPECT_TRUE(nothing_has_happened());
  comm_->group_end();
  for (int r = 0; r < size_; ++r) {
    EXPECT_EQ(gathered[static_cast<std::size_t>(r)], r);
    EXPECT_EQ(exchanged[static_cast<std::size_t>(r)], r);
  }
  EXPECT_EQ(sum, size_ * (size_ - 1) / 2);
  EXPECT_EQ(received, previous);
  EXPECT_EQ(broadcast, size_ - 1);
  EXPECT_EQ(shard, static_cast<float>(size_));
}

/// As where an error leaves a group: those that come after it are whole again.
TEST_P(Contract, AGroupThatIsLeftOpenEndsWithItsCommunicator) {
  comm_->split(0, rank_, "left")->group_begin();
  std::int32_t x = rank_;
  comm_->all_reduce(&x, 1, DType::i32, ReduceOp::max);
  EXPECT_EQ(x, size_ - 1);
}

TEST_P(Contract, ScratchIsBoundedAndReused) {
  std::vector<float> x(1'000'000, 1.0f);
  comm_->all_reduce(x.data(), 1'000'000, DType::f32, ReduceOp::sum);
  const auto before = cpu_device().ledger().usage(Purpose::communication).now;
  for (int i = 0; i < 3; ++i) comm_->all_reduce(x.data(), 1'000'000, DType::f32, ReduceOp::sum);
  EXPECT_EQ(cpu_device().ledger().usage(Purpose::communication).now, before);
  EXPECT_LE(before, std::int64_t{4} << 20);
}

}  // namespace
}  // namespace octet

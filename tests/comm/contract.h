#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "src/comm/communicator.h"

/// The contract of communicator.h: a program that includes this instantiates Contract with its backends, and is run at
/// 1, 2, 3, 4 and 8 ranks.
namespace octet {
namespace {

struct Backend {
  const char* name;
  std::unique_ptr<Communicator> (*make)(Stream&);
  bool in_rank_order = true;  ///< sums are; else within what any order of fp32 additions gives
};

class Contract : public testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> comm_ = GetParam().make(*stream_);
  const int rank_ = comm_->rank();
  const int size_ = comm_->size();
  /// For reductions: `counts` and one that takes three steps of scratch (2 MiB over the peers).
  const std::vector<std::int64_t> reduced_{0, 1, 3, 70'001, 1'200'003 / std::max(size_ - 1, 1)};

  /// Of all ranks' awkward(rank, begin + i).
  testing::AssertionResult is_sum(const float* found, std::int64_t begin, std::int64_t n) const;
};

constexpr DType all_dtypes[] = {DType::f32, DType::bf16, DType::e4m3, DType::e5m2, DType::i32, DType::u8};
/// None, one, odd, and above MPI's eager limit.
constexpr std::int64_t counts[] = {0, 1, 3, 70'001};

using Bytes = std::vector<std::uint8_t>;

/// Bytes that differ by sender, receiver and place.
Bytes pattern(int from, int to, std::int64_t bytes) {
  Bytes b(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(from) * 101 + static_cast<std::size_t>(to) * 37 + i * 7 +
                                     i / 251);
  }
  return b;
}

void append(Bytes& to, const Bytes& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Element i of a rank's floats: of all signs and of magnitudes from 2^-20 to 2^43, so that sums depend on the order.
float awkward(int rank, std::int64_t i) {
  std::uint64_t bits =
      static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(rank + 1) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 29)) * 0x94D049BB133111EBu;
  bits ^= bits >> 32;
  const float mantissa = static_cast<float>(bits & 0xFFFFFF) - 8388608.0f;
  return mantissa * std::bit_cast<float>(static_cast<std::uint32_t>(107 + (bits >> 24) % 40) << 23);
}

/// Elements [begin, begin + n).
std::vector<float> awkward(int rank, std::int64_t begin, std::int64_t n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = awkward(rank, begin + static_cast<std::int64_t>(i));
  return x;
}

/// The definition: a loop over ranks in their order.
std::vector<float> summed_in_rank_order(int ranks, std::int64_t begin, std::int64_t n) {
  std::vector<float> sum = awkward(0, begin, n);
  for (int r = 1; r < ranks; ++r) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + awkward(r, begin + static_cast<std::int64_t>(i));
  }
  return sum;
}

bool same_bits(const std::vector<float>& a, const float* b) {
  return a.empty() || std::memcmp(a.data(), b, a.size() * sizeof(float)) == 0;
}

testing::AssertionResult Contract::is_sum(const float* found, std::int64_t begin, std::int64_t n) const {
  const std::vector<float> expected = summed_in_rank_order(size_, begin, n);
  if (same_bits(expected, found)) return testing::AssertionSuccess();
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0, magnitudes = 0;
    for (int r = 0; r < size_; ++r) {
      sum += double{awkward(r, begin + i)};
      magnitudes += std::abs(double{awkward(r, begin + i)});
    }
    const double tolerance = GetParam().in_rank_order ? 0.0 : 0x1p-24 * size_ * magnitudes;
    if (std::abs(double{found[i]} - sum) <= tolerance) continue;
    return testing::AssertionFailure() << "element " << i << ": " << found[i] << ", sum of the ranks " << sum;
  }
  return GetParam().in_rank_order ? testing::AssertionFailure() << "not in the order of ranks"
                                  : testing::AssertionSuccess();
}

TEST_P(Contract, RanksAreNumbered) {
  EXPECT_GE(rank_, 0);
  EXPECT_LT(rank_, size_);
  EXPECT_EQ(&comm_->stream(), stream_.get());
}

TEST_P(Contract, AllGather) {
  for (const DType dtype : all_dtypes) {
    for (const std::int64_t count : counts) {
      const std::int64_t bytes = count * size_of(dtype);
      const Bytes mine = pattern(rank_, 0, bytes);
      Bytes all(static_cast<std::size_t>(bytes * size_), 0xEE), expected;
      for (int r = 0; r < size_; ++r) append(expected, pattern(r, 0, bytes));
      comm_->all_gather(mine.data(), all.data(), count, dtype);
      EXPECT_EQ(all, expected) << name_of(dtype) << " " << count;
    }
  }
}

TEST_P(Contract, AllGatherOfMegabytes) {
  constexpr std::int64_t count = 3'000'001;
  const Bytes mine = pattern(rank_, 0, count);
  Bytes all(static_cast<std::size_t>(count * size_));
  comm_->all_gather(mine.data(), all.data(), count, DType::e4m3);
  const int checked = (rank_ + 1) % size_;
  EXPECT_EQ(Bytes(all.begin() + checked * count, all.begin() + (checked + 1) * count), pattern(checked, 0, count));
}

TEST_P(Contract, AllReduceToLeavesTheInput) {
  for (const std::int64_t count : reduced_) {
    const std::vector<float> mine = awkward(rank_, 0, count);
    std::vector<float> input = mine, sum(mine.size(), -1.0f);
    comm_->all_reduce_to(input.data(), sum.data(), count, DType::f32, ReduceOp::sum);
    EXPECT_TRUE(is_sum(sum.data(), 0, count)) << count;
    EXPECT_TRUE(same_bits(mine, input.data())) << count;
  }
  const std::vector<std::int32_t> numbers = {rank_, -rank_, 7};
  std::vector<std::int32_t> most(3, -100);
  comm_->all_reduce_to(numbers.data(), most.data(), 3, DType::i32, ReduceOp::max);
  EXPECT_EQ(most, (std::vector<std::int32_t>{size_ - 1, 0, 7}));
  EXPECT_EQ(numbers[0], rank_);
}

TEST_P(Contract, BroadcastToLeavesTheInput) {
  for (int root = 0; root < size_; ++root) {
    for (const std::int64_t count : counts) {
      const Bytes mine = pattern(rank_, root, count);
      Bytes input = mine, all(mine.size(), 0xEE);
      comm_->broadcast_to(input.data(), all.data(), count, DType::u8, root);
      EXPECT_EQ(all, pattern(root, root, count)) << root << " " << count;
      EXPECT_EQ(input, mine);
    }
  }
}

TEST_P(Contract, AllGatherInPlace) {
  for (const std::int64_t count : counts) {
    Bytes all(static_cast<std::size_t>(count * 2 * size_), 0xEE), expected;
    const Bytes mine = pattern(rank_, 0, count * 2);
    for (int r = 0; r < size_; ++r) append(expected, pattern(r, 0, count * 2));
    std::uint8_t* own = all.data() + rank_ * count * 2;
    std::copy(mine.begin(), mine.end(), own);
    comm_->all_gather(own, all.data(), count, DType::bf16);
    EXPECT_EQ(all, expected) << count;
  }
}

TEST_P(Contract, ReduceScatterOfIntegersIsExact) {
  for (const std::int64_t count : reduced_) {
    std::vector<float> send(static_cast<std::size_t>(count * size_)), recv(static_cast<std::size_t>(count), -1.0f);
    for (std::size_t i = 0; i < send.size(); ++i)
      send[i] = static_cast<float>(rank_ + 1) * static_cast<float>(i % 1000);
    comm_->reduce_scatter(send.data(), recv.data(), count);
    const auto ranks_sum = static_cast<float>(size_ * (size_ + 1) / 2);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < recv.size(); ++i) {
      const std::size_t global = static_cast<std::size_t>(rank_ * count) + i;
      if (recv[i] != ranks_sum * static_cast<float>(global % 1000)) ++wrong;
    }
    EXPECT_EQ(wrong, 0u) << count;
  }
}

TEST_P(Contract, ReduceScatterSumsInRankOrder) {
  for (const std::int64_t count : reduced_) {
    const std::vector<float> send = awkward(rank_, 0, count * size_);
    std::vector<float> recv(static_cast<std::size_t>(count));
    comm_->reduce_scatter(send.data(), recv.data(), count);
    EXPECT_TRUE(is_sum(recv.data(), rank_ * count, count)) << count;
  }
}

TEST_P(Contract, AllReduceSumsInRankOrder) {
  for (const std::int64_t count : reduced_) {
    std::vector<float> x = awkward(rank_, 0, count);
    comm_->all_reduce(x.data(), count, DType::f32, ReduceOp::sum);
    EXPECT_TRUE(is_sum(x.data(), 0, count)) << count;
  }
}

TEST_P(Contract, AllReduceMax) {
  for (const std::int64_t count : reduced_) {
    // One of each element's is not negative.
    const auto values = [&](int r) {
      std::vector<float> v = awkward(r, 0, count);
      if (r == size_ / 2) std::ranges::transform(v, v.begin(), [](float a) { return std::abs(a); });
      return v;
    };
    std::vector<float> x = values(rank_), expected = values(0);
    for (int r = 1; r < size_; ++r) {
      const std::vector<float> other = values(r);
      for (std::size_t i = 0; i < other.size(); ++i) expected[i] = std::max(expected[i], other[i]);
    }
    comm_->all_reduce(x.data(), count, DType::f32, ReduceOp::max);
    EXPECT_TRUE(same_bits(expected, x.data())) << count;
  }
}

TEST_P(Contract, NaNWinsAMaxWhicheverRankHasIt) {
  constexpr std::int64_t count = 70'001;  // both algorithms
  for (const std::int64_t n : {std::int64_t{8}, count}) {
    for (int owner = 0; owner < size_; ++owner) {
      std::vector<float> x(static_cast<std::size_t>(n), static_cast<float>(rank_));
      if (rank_ == owner) x[5] = std::numeric_limits<float>::quiet_NaN();
      x[6] = rank_ == owner ? std::numeric_limits<float>::infinity() : -1.0f;
      comm_->all_reduce(x.data(), n, DType::f32, ReduceOp::max);
      EXPECT_TRUE(std::isnan(x[5])) << owner;
      EXPECT_EQ(x[6], std::numeric_limits<float>::infinity());
      EXPECT_EQ(x[4], static_cast<float>(size_ - 1));
    }
  }
}

TEST_P(Contract, AllReduceOfIntegers) {
  for (const std::int64_t count : reduced_) {
    std::vector<std::int32_t> sum(static_cast<std::size_t>(count)), max(sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = static_cast<std::int32_t>(i % 1000) - 500 + rank_ * 16'777'217;  // beyond what a float holds
      max[i] = (rank_ % 2 == 0 ? -1 : 1) * static_cast<std::int32_t>(i);
    }
    comm_->all_reduce(sum.data(), count, DType::i32, ReduceOp::sum);
    comm_->all_reduce(max.data(), count, DType::i32, ReduceOp::max);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const auto place = static_cast<std::int32_t>(i);
      if (sum[i] != size_ * (place % 1000 - 500) + size_ * (size_ - 1) / 2 * 16'777'217) ++wrong;
      if (max[i] != (size_ > 1 ? place : -place)) ++wrong;
    }
    EXPECT_EQ(wrong, 0u) << count;
  }
}

TEST_P(Contract, AllReduceRefusesOtherTypes) {
  bf16 x;
  EXPECT_THROW(comm_->all_reduce(&x, 1, DType::bf16, ReduceOp::sum), Error);
}

TEST_P(Contract, AllToAll) {
  for (const DType dtype : all_dtypes) {
    for (const std::int64_t count : counts) {
      const std::int64_t bytes = count * size_of(dtype);
      Bytes send, expected, recv(static_cast<std::size_t>(bytes * size_), 0xEE);
      for (int r = 0; r < size_; ++r) append(send, pattern(rank_, r, bytes));
      for (int r = 0; r < size_; ++r) append(expected, pattern(r, rank_, bytes));
      comm_->all_to_all(send.data(), recv.data(), count, dtype);
      EXPECT_EQ(recv, expected) << name_of(dtype) << " " << count;
    }
  }
}

TEST_P(Contract, BroadcastFromEachRoot) {
  for (const std::int64_t count : counts) {
    for (int root = 0; root < size_; ++root) {
      Bytes data = pattern(rank_, 1, count * 4);
      comm_->broadcast(data.data(), count, DType::i32, root);
      EXPECT_EQ(data, pattern(root, 1, count * 4)) << root << " " << count;
    }
  }
}

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

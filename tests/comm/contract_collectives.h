#pragma once

#include "tests/comm/contract_fixture.h"

/// The contract's collectives, each alone.
namespace octet {
namespace {

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

}  // namespace
}  // namespace octet

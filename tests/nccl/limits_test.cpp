// What Octet keeps within because NCCL does badly beyond: sends and receives in one group, ranks that meet at one id.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/comm/in_flight.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl/nccl_ids.h"
#include "tests/nccl/one_gpu.h"
#include "tests/nccl/slow_device.h"
#include "tests/nccl/stand_in_nccl.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_has.h"

namespace octet::test {
namespace {

class Limits : public testing::Test {
 protected:
  Limits() {
    stand_in() = {};
    share_one_gpu();
  }
  ~Limits() override { stand_in() = {}; }
  void SetUp() override {
    if (size_ == 1) GTEST_SKIP() << "a group of one needs no NCCL";
  }
  /// `most`: of sends and receives in one group, for Octet and the stand-in.
  void limit(int most) {
    nccl_.most_exchanges = most;
    stand_in().most_exchanges = static_cast<std::size_t>(most);
  }
  /// MPI, which introduces the ranks, is on a CPU stream.
  std::unique_ptr<Communicator> make(Stream& stream, const std::string& name) {
    return make_nccl_communicator(announced(make_mpi_communicator(*stream_, name)), stream, {}, nccl_);
  }

  NcclApi nccl_ = stand_in_api();
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  const int rank_ = make_mpi_communicator(*stream_, "ranks")->rank();
  const int size_ = make_mpi_communicator(*stream_, "ranks")->size();
};

/// Exchanges of a number with every rank, each another, and what has to come of them.
class Exchanges {
 public:
  Exchanges(int calls, int rank, int size) : rank_(rank), size_(size), sent_(static_cast<std::size_t>(calls)) {
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      for (int r = 0; r < size; ++r) sent_[i].push_back(number(i, rank, r));
    }
    received_.assign(sent_.size(), std::vector<std::int32_t>(static_cast<std::size_t>(size), -1));
  }
  void make(std::size_t i, Communicator& comm) { comm.all_to_all(sent_[i].data(), received_[i].data(), 1, DType::i32); }
  void make_all(Communicator& comm) {
    for (std::size_t i = 0; i < sent_.size(); ++i) make(i, comm);
  }
  void expect_done() const {
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      for (int r = 0; r < size_; ++r) EXPECT_EQ(received_[i][static_cast<std::size_t>(r)], number(i, r, rank_)) << i;
    }
  }

 private:
  std::int32_t number(std::size_t call, int from, int to) const {
    return (static_cast<std::int32_t>(call) * size_ + from) * size_ + to;
  }

  int rank_, size_;
  std::vector<std::vector<std::int32_t>> sent_, received_;
};

/// As the gradients of a block that travel in bf16, of many ranks.
TEST_F(Limits, AGroupOfManyExchangesIsSeveralOfNccl) {
  SlowDevice device;
  const auto slow = device.make_stream();
  const auto comm = make(*slow, "dp_shard");
  const int each = 2 * size_, together = 256 / each;
  Exchanges exchanges(2 * together + 1, rank_, size_);
  float before = 1, after = 1;
  comm->group_begin();
  comm->all_reduce(&before, 1, DType::f32, ReduceOp::sum);
  exchanges.make_all(*comm);
  comm->all_reduce(&after, 1, DType::f32, ReduceOp::sum);
  EXPECT_TRUE(stand_in().exchanges.empty());
  comm->group_end();
  exchanges.expect_done();
  EXPECT_EQ(before, static_cast<float>(size_));
  EXPECT_EQ(after, static_cast<float>(size_));
  const auto whole = static_cast<std::size_t>(together * each);
  EXPECT_EQ(stand_in().exchanges, (std::vector<std::size_t>{whole, whole, static_cast<std::size_t>(each)}));
  EXPECT_EQ(operations_in_flight(),
            fmt::format("all_reduce (sum) of {} bytes in group dp_shard", 8 + (2 * together + 1) * 4 * size_))
      << "the whole group by the last of its calls";
  device.done = true;
}

TEST_F(Limits, AnExchangeOfManyRanksIsSeveralGroupsOfNccl) {
  limit(4);
  SlowDevice device;
  const auto slow = device.make_stream();
  const auto comm = make(*slow, "dp_shard");
  std::vector<std::size_t> parts(static_cast<std::size_t>(size_ / 2), 4);
  if (size_ % 2 == 1) parts.push_back(2);
  Exchanges alone(1, rank_, size_), grouped(3, rank_, size_);
  alone.make_all(*comm);
  alone.expect_done();
  EXPECT_EQ(stand_in().exchanges, parts);
  EXPECT_EQ(operations_in_flight(), fmt::format("all_to_all of {} bytes in group dp_shard", 4 * size_));
  comm->group_begin();
  grouped.make_all(*comm);
  comm->group_end();
  grouped.expect_done();
  for (const std::size_t exchanges : stand_in().exchanges) EXPECT_LE(exchanges, 4);
  device.done = true;
}

/// Each has its own limit; an alias has that of the communicator that it shares.
TEST_F(Limits, CommunicatorsOfOneGroupKeepWithin) {
  limit(2 * size_);
  const auto one = make(*stream_, "one"), other = make(*stream_, "other");
  const auto alias = one->alias("alias");
  Exchanges exchanges(9, rank_, size_);
  one->group_begin();
  for (std::size_t i = 0; i < 9; ++i) exchanges.make(i, i % 3 == 0 ? *one : i % 3 == 1 ? *other : *alias);
  one->group_end();
  exchanges.expect_done();
  EXPECT_EQ(stand_in().exchanges, std::vector<std::size_t>(9, static_cast<std::size_t>(2 * size_)));
}

TEST_F(Limits, AGroupThatNcclRefusesIsNamed) {
  const auto comm = make(*stream_, "dp_shard");
  stand_in().most_exchanges = 1;
  Exchanges exchanges(2, rank_, size_);
  const std::string message = error_of(
      [&] {
        comm->group_begin();
        exchanges.make_all(*comm);
        comm->group_end();
      },
      ExitCode::internal);
  EXPECT_HAS(message, fmt::format("all_to_all of {} bytes in group dp_shard: NCCL", 8 * size_));
}

TEST(Ids, AreMadeByTheFirstOfThoseThatMeetAtThem) {
  EXPECT_EQ(id_makers(1, 128), std::vector<int>{0});
  EXPECT_EQ(id_makers(256, 128), std::vector<int>{0});
  EXPECT_EQ(id_makers(257, 128), (std::vector<int>{0, 86, 172}));
  EXPECT_EQ(id_makers(512, 128), (std::vector<int>{0, 128, 256, 384}));
  EXPECT_EQ(id_makers(7, 3), (std::vector<int>{0, 3, 5})) << "the example of NCCL's user guide";
}

TEST_F(Limits, ManyRanksMeetAtSeveralIds) {
  for (const int ranks_an_id : {1, 2, 3}) {
    for (const bool known : {true, false}) {
      stand_in() = {};
      nccl_.ranks_an_id = ranks_an_id;
      nccl_.comm_init_rank_scalable = known ? stand_in_api().comm_init_rank_scalable : nullptr;
      const auto comm = make(*stream_, "world");
      const std::vector<int> makers = known ? id_makers(size_, ranks_an_id) : std::vector<int>{0};
      EXPECT_EQ(stand_in().ids.at("world"), makers.size()) << ranks_an_id;
      EXPECT_EQ(stand_in().ids_made, std::count(makers.begin(), makers.end(), rank_)) << ranks_an_id;
      float x = 1;
      comm->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
      EXPECT_EQ(x, static_cast<float>(size_));
    }
  }
}

/// An address at which rank 0 of every communicator waits for the others.
TEST_F(Limits, GroupsThatWouldMeetAtOneAddressAreRefused) {
  setenv("NCCL_COMM_ID", "127.0.0.1:9999", 1);
  const auto world = make(*stream_, "world");
  const auto again = world->split(0, rank_, "again");  // after the world, with the same rank 0
  float x = 1;
  again->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
  EXPECT_EQ(x, static_cast<float>(size_));
  const auto split = [&] { world->split(rank_ / 2, rank_, "tp"); };
  const bool several = size_ > 2 && (rank_ + 1 < size_ || size_ % 2 == 0);  // a rank that is left over needs no NCCL
  if (several) {
    EXPECT_HAS(
        error_of(split, ExitCode::usage),
        fmt::format("[comm] NCCL_COMM_ID is set, an address at which one group can meet; expected it unset for {} "
                    "ranks in groups of 2 (tp)",
                    size_));
  } else {
    EXPECT_NO_THROW(split());
  }
  nccl_.ranks_an_id = 1;
  if (size_ > 2) {
    EXPECT_HAS(error_of([&] { make(*stream_, "world"); }, ExitCode::usage), "by which one rank alone gives an id");
  }
  unsetenv("NCCL_COMM_ID");
  EXPECT_NO_THROW(split());
}

}  // namespace
}  // namespace octet::test

// Ranks that share memory for one writer, of which some cannot have it: no rank waits for what another no longer does.
#include <gtest/gtest.h>

#include "checkpoints/save/snapshot.h"
#include "src/base/hosts.h"
#include "tests/checkpoints/allocations.h"
#include "tests/checkpoints/file_size_limit.h"
#include "tests/checkpoints/saver_fixture.h"
#include "tests/support/forwarding_communicator.h"

namespace octet::checkpoint {
namespace {

using test::contains;

/// A group of the world's that loses a peer in its next exchange, as long as `lost` says so.
class LosingGroup final : public octet::test::ForwardingCommunicator {
 public:
  LosingGroup(std::unique_ptr<Communicator> inner, const bool& lost, bool is_group = false)
      : ForwardingCommunicator(std::move(inner)), lost_(lost), is_group_(is_group) {}
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) override {
    if (is_group_ && lost_) throw Error(ExitCode::lost_peer, "[comm] the peer is gone");
    inner().all_reduce(data, count, dtype, op);
  }
  std::unique_ptr<Communicator> split(int color, int key, std::string name) override {
    return std::make_unique<LosingGroup>(inner().split(color, key, std::move(name)), lost_, true);
  }
  std::unique_ptr<Communicator> split_by_node(std::string name) override {
    return std::make_unique<LosingGroup>(inner().split_by_node(std::move(name)), lost_, true);
  }

 private:
  const bool& lost_;
  bool is_group_;
};

class WriterGroupFailure : public test::SaverTest {
 protected:
  WriterGroupFailure() { writers_per_node_ = 1; }

  bool lost_ = false;
};

TEST_F(WriterGroupFailure, OfOneBeforeTheGroupsExchangeLeavesNobodyWaiting) {
  const auto group = world_->split_by_node("node");
  Snapshot snapshot(group.get());
  const std::vector<DevicePiece> pieces = mine_->pieces();
  SaveShare many;
  many.copies.assign(100'000, 0);  // a list of which there is no memory
  std::optional<Failure> failure;
  {
    std::optional<test::AllocationLimit> limit;
    if (last()) limit.emplace(64 << 10);
    failure = snapshot.reserve(pieces, many, *stream_);
  }
  EXPECT_EQ(failure.has_value(), last());
  EXPECT_EQ(snapshot.bytes(), 0) << "nobody's memory is worth anything without the others'";
  SaveShare few;
  few.copies = {0, 1};
  EXPECT_FALSE(snapshot.reserve(pieces, few, *stream_).has_value());
  EXPECT_GT(snapshot.bytes(), 0);
}

/// What the exchange itself needs is taken before anyone waits in it.
TEST_F(WriterGroupFailure, OfOneWithoutMemoryForTheExchangeLeavesNobodyWaiting) {
  if (size() < 2) GTEST_SKIP() << "needs two ranks";
  const auto group = world_->split_by_node("node");
  Snapshot snapshot(group.get());
  const std::vector<DevicePiece> pieces = mine_->pieces();
  SaveShare few;
  few.copies = {0, 1};
  std::optional<Failure> failure;
  {
    std::optional<test::AllocationLimit> limit;
    if (last()) limit.emplace(64);  // less than all ranks have to say
    failure = snapshot.reserve(pieces, few, *stream_);
  }
  EXPECT_EQ(failure.has_value(), last());
  EXPECT_EQ(snapshot.bytes(), 0);
  EXPECT_FALSE(snapshot.reserve(pieces, few, *stream_).has_value());
  EXPECT_GT(snapshot.bytes(), 0);
}

TEST_F(WriterGroupFailure, OfOneWithoutMemoryToShareIsToldByAll) {
  if (size() < 2) GTEST_SKIP() << "needs two ranks";
  Saver saver = make_saver();
  std::string error;
  {
    std::optional<test::FileSizeLimit> limit;
    if (last()) limit.emplace(64);
    error = common_error([&] { start(saver, 1); });
  }
  EXPECT_PRED2(contains, error, "step 1 cannot be saved: rank 0 on " + host_name() + ": ");
  EXPECT_PRED2(contains, error, fmt::format("rank {} of group checkpoint writers cannot share ", size() - 1));
  save(saver, 2);
  EXPECT_EQ(steps(), test::Steps{2});
}

/// An agreement behind it would wait for the peer once more.
TEST_F(WriterGroupFailure, ThatAPeerIsLostIsThrownAtOnce) {
  if (size() < 2) GTEST_SKIP() << "needs two ranks";
  LosingGroup world(make_mpi_communicator(*stream_, "losing"), lost_);
  Saver saver(SaverOptions{.root = root_, .writers_per_node = 1}, world, *stream_);
  saver.prepare({});
  lost_ = true;
  try {
    saver.prepare({});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::lost_peer);
    EXPECT_FALSE(error.agreed());
    EXPECT_STREQ(error.what(), "[comm] the peer is gone");
  }
}

}  // namespace
}  // namespace octet::checkpoint

// Ranks of a node that are not neighbours, as where a launcher deals them out to the nodes in turn, are warned of.
#include "jobs/ranks/node_order.h"

#include <gtest/gtest.h>

#include "src/base/log.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "tests/support/expect_has.h"

namespace octet {
namespace {

TEST(NodeOrder, RanksOfEachNodeInARowAreNotScattered) {
  EXPECT_EQ(scattered_ranks({}), "");
  EXPECT_EQ(scattered_ranks({"a"}), "");
  EXPECT_EQ(scattered_ranks({"b", "a"}), "");
  EXPECT_EQ(scattered_ranks({"a", "a", "a", "b", "c", "c"}), "") << "however many";
}

TEST(NodeOrder, TheFirstRankThatComesBackToANodeIsNamed) {
  EXPECT_EQ(scattered_ranks({"a", "b", "a", "b"}), "rank 2 is on a as rank 0 is, rank 1 on b");
  EXPECT_EQ(scattered_ranks({"a", "a", "b", "b", "c", "b"}), "rank 5 is on b as rank 3 is, rank 4 on c");
}

class NodeOrderOfRanks : public testing::Test {
 protected:
  std::string said(const std::string& node) {
    log::set_identity(control_->rank(), control_->size(), node);
    testing::internal::CaptureStderr();
    warn_of_scattered_ranks(node, *control_);
    log::set_identity(0, 1, "");
    return testing::internal::GetCapturedStderr();
  }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_ = make_mpi_communicator(*stream_, "control");
};

TEST_F(NodeOrderOfRanks, NothingIsSaidOfNeighbours) {
  EXPECT_EQ(said(control_->rank() < 2 ? "a" : "b"), "");
}

TEST_F(NodeOrderOfRanks, RanksThatAreDealtOutInTurnAreAWarningOfRank0) {
  const std::string text = said(control_->rank() % 2 == 0 ? "a" : "b");
  if (control_->size() < 3 || control_->rank() > 0) {
    EXPECT_EQ(text, "");
    return;
  }
  EXPECT_HAS(text, "the ranks of a node do not follow each other (rank 2 is on a as rank 0 is, rank 1 on b)");
  EXPECT_HAS(text, fmt::format("mpiexec -ppn {} ", (control_->size() + 1) / 2));
}

}  // namespace
}  // namespace octet

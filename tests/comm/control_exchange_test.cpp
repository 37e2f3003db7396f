// What the ranks of a group on the CPU tell one of them, and it the others.
#include "src/comm/control_exchange.h"

#include <gtest/gtest.h>

#include "src/comm/mpi/mpi_communicator.h"

namespace octet {
namespace {

class ControlExchange : public testing::Test {
 protected:
  /// Another length on every rank; of rank 0 nothing.
  static std::string text_of(int rank) {
    return std::string(static_cast<std::size_t>(70'000 * rank), static_cast<char>('a' + rank));
  }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> world_ = make_mpi_communicator(*stream_, "world");
};

TEST_F(ControlExchange, GathersForOneRankAlone) {
  for (int root = 0; root < world_->size(); ++root) {
    const std::vector<std::string> all = gather_bytes_to(root, text_of(world_->rank()), *world_);
    ASSERT_EQ(all.size(), world_->rank() == root ? static_cast<std::size_t>(world_->size()) : 0);
    for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], text_of(static_cast<int>(r))) << r;
  }
}

TEST_F(ControlExchange, ScattersToEachItsOwn) {
  for (int root = 0; root < world_->size(); ++root) {
    std::vector<std::string> all;
    if (world_->rank() == root) {
      for (int r = 0; r < world_->size(); ++r) all.push_back(text_of(r));
    }
    EXPECT_EQ(scatter_bytes(all, root, *world_), text_of(world_->rank()));
  }
}

}  // namespace
}  // namespace octet

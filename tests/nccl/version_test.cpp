// What the version of the library says of the memory that it takes.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/nccl_communicator.h"
#include "src/train/plan/nccl_variables.h"
#include "tests/nccl/stand_in_nccl.h"

namespace octet::test {
namespace {

TEST(NcclVersion, BeforeRuntimeConnectCommunicatorsAreConnectedWhenMade) {
  const auto stream = cpu_device().make_stream();
  if (make_mpi_communicator(*stream, "ranks")->size() == 1) GTEST_SKIP() << "a group of one needs no NCCL";
  stand_in() = {};
  for (const auto& [version, when_used] : {std::pair{NCCL_VERSION(2, 21, 5), false},
                                           {NCCL_VERSION(2, 22, 3), true},
                                           {NCCL_VERSION(2, 19, 3), false},
                                           {NCCL_VERSION(2, 28, 9), true}}) {
    stand_in().version = version;
    make_on_stand_in(*stream);
    EXPECT_EQ(nccl_in_use(), version);
    EXPECT_EQ(nccl_variables().connects_when_used, when_used) << version;
  }
  stand_in() = {};
}

}  // namespace
}  // namespace octet::test

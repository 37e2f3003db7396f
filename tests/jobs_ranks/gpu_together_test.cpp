// A GPU that does not start on a few hosts is theirs, and on most of them a mistake in what was asked for.
#include "jobs/ranks/gpu_together.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/hosts.h"
#include "src/base/log.h"
#include "src/comm/control_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"

namespace octet {
namespace {

class GpuTogether : public testing::Test {
 protected:
  void TearDown() override { log::set_identity(0, 1, ""); }

  struct Ending {
    ExitCode code = ExitCode::finished;
    std::string text{};
  };
  /// How all ranks end, this one on that host.
  Ending use(const std::string& host, bool fails) {
    log::set_identity(rank(), control_->size(), host);
    Ending ending;
    try {
      use_gpu_together(*control_, [&] {
        if (fails) throw usage_error("device", "no GPU for rank {}", rank());
      });
    } catch (const Error& error) {
      EXPECT_TRUE(error.agreed());
      ending = {error.code(), error.what()};
    }
    for (const std::string& other : gather_bytes(ending.text, *control_)) EXPECT_EQ(other, ending.text);
    return ending;
  }
  int rank() const { return control_->rank(); }
  int last() const { return control_->size() - 1; }
  std::string own_host() const { return fmt::format("node-{}", rank()); }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_ = make_mpi_communicator(*stream_, "control");
};

TEST_F(GpuTogether, GoesOnWhereItWorksOnAllHosts) {
  bool has_run = false;
  EXPECT_NO_THROW(use_gpu_together(*control_, [&] { has_run = true; }));
  EXPECT_TRUE(has_run);
}

TEST_F(GpuTogether, LeavesOutTheHostsWhereItFails) {
  if (last() == 0) GTEST_SKIP() << "needs 2 ranks";
  const Ending ending = use(own_host(), rank() == last());
  EXPECT_EQ(ending.code, ExitCode::unhealthy);
  EXPECT_EQ(ending.text,
            fmt::format("[device] leave out hosts node-{0}: 1 of {1} host(s) cannot use the GPU (docs/problems.md, \"A "
                        "GPU cannot be used on some hosts\"): rank {0} on node-{0}: no GPU for rank {0}",
                        last(), control_->size()));
  EXPECT_EQ(left_out_hosts(ending.text), std::vector<std::string>{fmt::format("node-{}", last())});
}

TEST_F(GpuTogether, IsAMistakeWhereItFailsOnAllHosts) {
  const Ending ending = use(own_host(), true);
  EXPECT_EQ(ending.code, ExitCode::usage);
  EXPECT_EQ(ending.text, "[device] rank 0 on node-0: no GPU for rank 0");
}

/// As where each rank sees one GPU, and the first one of a node alone finds its own. Rank 0 speaks for the one that
/// failed.
TEST_F(GpuTogether, IsAMistakeWhereARankOfEachHostFails) {
  const Ending ending = use("node", rank() == last());
  EXPECT_EQ(ending.code, ExitCode::usage);
  EXPECT_EQ(ending.text, fmt::format("[device] rank {0} on node: no GPU for rank {0}", last()));
}

}  // namespace
}  // namespace octet

// Ranks of different builds refuse to start, all with the same words; ranks of builds that differ in their compiler go
// on.
#include "jobs/ranks/same_build.h"

#include <gtest/gtest.h>

#include "jobs/version.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "tests/support/expect_has.h"

namespace octet {
namespace {

class SameBuild : public testing::Test {
 protected:
  /// What is thrown or, on rank 0, logged; empty: nothing.
  std::string said(const Build& build) {
    log::set_identity(control_->rank(), control_->size(), "node");
    testing::internal::CaptureStderr();
    std::string thrown;
    try {
      require_same_build(*control_, fmt::format("node-{}", control_->rank()), build);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_TRUE(error.agreed());
      thrown = error.what();
    }
    log::set_identity(0, 1, "");
    return testing::internal::GetCapturedStderr() + thrown;
  }
  int last() const { return control_->size() - 1; }
  bool is_last() const { return control_->rank() == last(); }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_ = make_mpi_communicator(*stream_, "control");
};

TEST_F(SameBuild, OneBuildIsNotSpokenOf) {
  EXPECT_EQ(said(this_build()), "");
}

TEST_F(SameBuild, AnotherCommitIsRefusedByAllWithBothBuilds) {
  const std::string text = said({is_last() ? "octet 1, commit b" : "octet 1, commit a", is_last() ? "old" : "new"});
  if (last() == 0) return;
  EXPECT_HAS(text, "[ranks] the ranks are not of one build");
  EXPECT_HAS(text, "node(s) node-0");
  EXPECT_HAS(text, ": octet 1, commit a; ");
  EXPECT_HAS(text, fmt::format("node(s) node-{0}, 1 rank(s) ({0}): octet 1, commit b; expected the same", last()));
}

TEST_F(SameBuild, AnotherCompilerIsAWarningOfRank0) {
  const std::string text = said({"octet 1, commit a", is_last() ? "GNU 13" : "GNU 12"});
  if (last() == 0 || control_->rank() != 0) {
    EXPECT_EQ(text, "");
    return;
  }
  EXPECT_HAS(text, "of the same source, but not made alike");
  EXPECT_HAS(text, fmt::format("1 rank(s) ({}): octet 1, commit a, GNU 13; bits differ", last()));
}

}  // namespace
}  // namespace octet

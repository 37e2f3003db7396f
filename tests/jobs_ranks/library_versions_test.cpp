// Ranks that compute with other libraries than rank 0 are named, once, and the run goes on.
#include "jobs/ranks/library_versions.h"

#include <gtest/gtest.h>

#include "src/base/log.h"
#include "src/comm/mpi/mpi_communicator.h"

namespace octet {
namespace {

TEST(LibraryVersions, ThatDifferAreAWarningOfRank0) {
  const auto stream = cpu_device().make_stream();
  const auto control = make_mpi_communicator(*stream, "control");
  const auto said = [&](const std::string& versions) {
    log::set_identity(control->rank(), control->size(), "node");
    testing::internal::CaptureStderr();
    warn_of_other_libraries(*control, fmt::format("node-{}", control->rank()), versions);
    log::set_identity(0, 1, "");
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said("cuBLASLt 13.1.0, cuDNN 9.16.0"), "");
  if (control->size() == 1) return;
  const int last = control->size() - 1;
  const std::string text =
      said(fmt::format("cuBLASLt 13.1.0, cuDNN {}", control->rank() == last ? "9.15.1" : "9.16.0"));
  if (control->rank() != 0) {
    EXPECT_EQ(text, "");
    return;
  }
  EXPECT_NE(
      text.find(fmt::format("node(s) node-{}, 1 rank(s) ({}): cuBLASLt 13.1.0, cuDNN 9.15.1; bits differ from node "
                            "to node, losses are the same within rounding",
                            last, last)),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace octet

// Whether NCCL takes NVLink SHARP is decided by all ranks, before NCCL is loaded.
#include "jobs/ranks/nvls.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "src/base/log.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

constexpr const char* nvls_variable = "NCCL_NVLS_ENABLE";

class Nvls : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv(nvls_variable);
    setenv("NCCL_CONF_FILE", (folder_ / "nccl.conf").c_str(), 1);
    log::set_identity(control_->rank(), control_->size(), "node");
  }
  void TearDown() override {
    log::set_identity(0, 1, "");
    unsetenv(nvls_variable);
    unsetenv("NCCL_CONF_FILE");
  }

  /// What NCCL is told then; empty: nothing.
  std::string told(bool multicast, int compute_capability = 90, int local_size = 8) {
    testing::internal::CaptureStderr();
    choose_nvls({.multicast = multicast, .compute_capability = compute_capability, .local_size = local_size},
                *control_);
    said_ = testing::internal::GetCapturedStderr();
    const char* const value = std::getenv(nvls_variable);
    return value == nullptr ? "" : value;
  }
  int last() const { return control_->size() - 1; }
  bool is_last() const { return control_->rank() == last(); }

  test::TempFolder folder_;
  std::string said_;
  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  std::unique_ptr<Communicator> control_ = make_mpi_communicator(*stream_, "control");
};

TEST_F(Nvls, IsOnWhereAllGpusHaveMulticast) {
  EXPECT_EQ(told(true), "1");
  EXPECT_EQ(said_.find("NVLink SHARP is on (NCCL_NVLS_ENABLE=1)") != std::string::npos, control_->rank() == 0) << said_;
}

TEST_F(Nvls, IsOffForAllWhereOneGpuHasNone) {
  EXPECT_EQ(told(!is_last()), "0");
  const std::string line = fmt::format("NVLink SHARP is off, since the GPU of rank {} has no multicast", last());
  EXPECT_EQ(said_.find(line) != std::string::npos, control_->rank() == 0) << said_;
}

TEST_F(Nvls, NamesTheFirstRankWithout) {
  EXPECT_EQ(told(false), "0");
  EXPECT_EQ(said_.find("the GPU of rank 0 has") != std::string::npos, control_->rank() == 0) << said_;
}

TEST_F(Nvls, IsNotMissedOnGpusThatNeverHadIt) {
  EXPECT_EQ(told(false, 80), "0");
  EXPECT_EQ(said_, "");
}

TEST_F(Nvls, IsNotSpokenOfWhereNoNodeHasSeveralRanks) {
  EXPECT_EQ(told(true, 90, 1), "1");
  EXPECT_EQ(said_, "");
  unsetenv(nvls_variable);
  EXPECT_EQ(told(false, 90, 1), "0");
  EXPECT_EQ(said_, "");
}

TEST_F(Nvls, IsSpokenOfWhereOneNodeHasSeveralRanks) {
  EXPECT_EQ(told(false, 90, is_last() ? 2 : 1), "0");
  EXPECT_EQ(said_.find("NVLink SHARP is off") != std::string::npos, control_->rank() == 0) << said_;
}

TEST_F(Nvls, StaysAsTheEnvironmentHasIt) {
  setenv(nvls_variable, "2", 1);
  EXPECT_EQ(told(!is_last()), "2");
  EXPECT_EQ(said_, "");
  setenv(nvls_variable, "", 1);  // which NCCL takes for none
  EXPECT_EQ(told(true), "1");
}

TEST_F(Nvls, StaysAsAFileOfNcclHasIt) {
  std::ofstream(folder_ / "nccl.conf") << nvls_variable << "=0\n";
  EXPECT_EQ(told(true), "") << "NCCL reads it by itself";
}

}  // namespace
}  // namespace octet

#include "src/comm/nccl_process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "src/base/open_files.h"

namespace octet {
namespace {

/// Keeps what the process had before.
struct NcclProcess : testing::Test {
  NcclProcess() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~NcclProcess() override {
    setrlimit(RLIMIT_NOFILE, &before_);
    if (order_.empty()) {
      unsetenv(nccl_launch_order_variable);
    } else {
      setenv(nccl_launch_order_variable, order_.c_str(), 1);
    }
  }

  static std::string order() {
    const char* const value = std::getenv(nccl_launch_order_variable);
    return value == nullptr ? "" : value;
  }

  rlimit before_{};
  std::string order_ = order();
};

TEST_F(NcclProcess, OrdersLaunchesUnlessTheUserSaysOtherwise) {
  unsetenv(nccl_launch_order_variable);
  prepare_process_for_nccl();
  EXPECT_EQ(order(), "1");
  setenv(nccl_launch_order_variable, "0", 1);
  prepare_process_for_nccl();
  EXPECT_EQ(order(), "0");
}

TEST_F(NcclProcess, MayOpenAsManyFilesAsItIsAllowed) {
  rlimit low = before_;
  low.rlim_cur = 256;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  prepare_process_for_nccl();
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, std::min<rlim_t>(before_.rlim_max, most_open_files));
  EXPECT_EQ(now.rlim_max, before_.rlim_max);
}

}  // namespace
}  // namespace octet

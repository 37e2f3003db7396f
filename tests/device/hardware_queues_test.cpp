#include "src/device/hardware_queues.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace octet {
namespace {

/// The variable after the call, from `given`, which stands in it before; none: it is not set.
std::string asked_from(const std::optional<std::string>& given) {
  if (given) {
    setenv(hardware_queues_variable, given->c_str(), 1);
  } else {
    unsetenv(hardware_queues_variable);
  }
  ask_for_hardware_queues();
  const char* const value = std::getenv(hardware_queues_variable);
  return value == nullptr ? "(none)" : value;
}

struct HardwareQueues : testing::Test {
  ~HardwareQueues() override {
    if (before_ == nullptr) {
      unsetenv(hardware_queues_variable);
    } else {
      setenv(hardware_queues_variable, copy_.c_str(), 1);
    }
  }

 private:
  const char* before_ = std::getenv(hardware_queues_variable);
  std::string copy_ = before_ == nullptr ? "" : before_;
};

TEST_F(HardwareQueues, AreAsManyAsThereCanBeWhereNobodySaidHowMany) {
  EXPECT_STREQ(hardware_queues_variable, "CUDA_DEVICE_MAX_CONNECTIONS");
  EXPECT_EQ(asked_from(std::nullopt), "32");
}

TEST_F(HardwareQueues, AreWhatTheUserSays) {
  EXPECT_EQ(asked_from("1"), "1");
  EXPECT_EQ(asked_from("8"), "8");
  EXPECT_EQ(asked_from(""), "") << "set, to nothing";
}

}  // namespace
}  // namespace octet

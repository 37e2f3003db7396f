// Where some ranks have no NVML, one line of rank 0 says so.
#include "src/train/health/device_health.h"

#include "tests/equivalence/trainer_test.h"
#include "tests/support/nvml_values.h"

namespace octet {
namespace {

class UnwatchedRanks : public TrainerTest {
 protected:
  /// What this rank logs when the last `missing` ranks have no library.
  std::string logged(int missing) const {
    const bool has = world_->rank() < world_->size() - missing;
    const DeviceHealth health(86400, gpu_id, has ? OCTET_STAND_IN_NVML : "libnone-ml.so.1");
    testing::internal::CaptureStderr();
    report_unwatched(health, *world_, fmt::format("node-{}", world_->rank()));
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(UnwatchedRanks, AreCountedAndTheFirstIsNamed) {
  const NvmlValues values;
  values.set(healthy_gpu);
  const int ranks = world_->size();
  EXPECT_EQ(logged(0), "");
  for (const int missing : {1, ranks}) {
    const std::string text = logged(missing);
    const std::string expected = fmt::format("{} of {} GPU(s) are not watched; rank {} on node-{}: [device] libnone",
                                             missing, ranks, ranks - missing, ranks - missing);
    EXPECT_EQ(text.find(expected) != std::string::npos, world_->rank() == 0) << text;
    EXPECT_EQ(text.empty(), world_->rank() != 0) << text;
  }
}

}  // namespace
}  // namespace octet

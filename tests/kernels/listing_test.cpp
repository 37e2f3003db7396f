// Kernels of a table whose stream is listed.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "kernels/table.h"
#include "src/device/work_list.h"

namespace octet {
namespace {

class ListedKernels : public testing::Test {
 protected:
  WorkList listed(const KernelTable& kernels, Stream& stream, std::int64_t n = 3) {
    WorkList list;
    Listing listing(stream, list);
    kernels.accumulate(stream, {.x = x_.data(), .y = y_.data(), .n = n});
    kernels.sum(stream, {.x = y_.data(), .n = n, .out = &sum_});
    EXPECT_EQ(listing.end(), nullptr);
    return list;
  }

  std::array<float, 3> x_{1, 2, 3}, y_{10, 20, 30};
  float sum_ = 0;
};

TEST_F(ListedKernels, AreDoneWhenTheListIs) {
  const auto stream = cpu_device().make_stream();
  for (const KernelTable* kernels : {&watched_kernels(DeviceType::cpu), &timed_kernels(DeviceType::cpu)}) {
    y_ = {10, 20, 30};
    sum_ = 0;
    const WorkList list = listed(*kernels, *stream);
    EXPECT_EQ(y_[0], 10);
    EXPECT_EQ(sum_, 0);
    list.give(*stream);
    EXPECT_EQ(y_, (std::array<float, 3>{11, 22, 33}));
    EXPECT_EQ(sum_, 66);
    list.give(*stream);
    EXPECT_EQ(sum_, 72) << "as launched a second time";
  }
}

TEST_F(ListedKernels, AreToldByTheirArguments) {
  const auto stream = cpu_device().make_stream();
  const KernelTable& kernels = watched_kernels(DeviceType::cpu);
  EXPECT_EQ(listed(kernels, *stream), listed(kernels, *stream));
  EXPECT_NE(listed(kernels, *stream), listed(kernels, *stream, 2));
}

TEST_F(ListedKernels, OfADryDeviceAreTooAndSayWhatTheyAsk) {
  const auto device = make_dry_device(DeviceType::cuda, DeviceType::cpu, nullptr);
  const auto stream = device->make_stream();
  const WorkList list = listed(kernels_of(*stream), *stream);
  EXPECT_EQ(list, listed(kernels_of(*stream), *stream));
  std::vector<std::string> names;
  std::int64_t bytes = 0;
  list.describe([&](const Work& work) {
    names.emplace_back(work.name);
    bytes += work.bytes;
  });
  EXPECT_EQ(names, (std::vector<std::string>{"accumulate", "sum"}));
  EXPECT_EQ(bytes, (Accumulate{.n = 3}).bytes_moved() + (Sum{.n = 3}).bytes_moved());
}

}  // namespace
}  // namespace octet

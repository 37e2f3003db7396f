#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/device/device.h"

namespace octet {
namespace {

TEST(CpuDevice, DescribesItself) {
  EXPECT_EQ(cpu_device().type(), DeviceType::cpu);
  EXPECT_EQ(&cpu_device(), &cpu_device());
  EXPECT_FALSE(cpu_device().name().empty());
  EXPECT_GT(cpu_device().memory_bytes(), 1 << 20);
  EXPECT_EQ(name_of(DeviceType::cpu), "cpu");
  EXPECT_EQ(name_of(DeviceType::cuda), "cuda");
}

TEST(CpuDevice, TimingEventsKeepTheTimeAndOthersDoNot) {
  const auto stream = cpu_device().make_stream();
  const auto a = cpu_device().make_timing_event(), b = cpu_device().make_timing_event();
  const auto plain = cpu_device().make_event();
  stream->record(*a);
  stream->record(*plain);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  stream->record(*b);
  EXPECT_TRUE(b->complete());
  EXPECT_GE(b->seconds_since(*a), 0.002);
  EXPECT_EQ(b->seconds_since(*a), -a->seconds_since(*b));
  EXPECT_THROW(plain->seconds_since(*a), Error);
}

TEST(CpuDevice, AllocationsAreAlignedAndWritable) {
  for (const std::int64_t bytes : {1LL, 100LL, 4096LL, (2LL << 20) - 1, 2LL << 20, (4LL << 20) + 5}) {
    void* memory = cpu_device().allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u) << bytes;
    std::memset(memory, 1, static_cast<std::size_t>(bytes));
    cpu_device().deallocate(memory, bytes);
  }
}

TEST(CpuDevice, RefusedAllocationNamesTheBytes) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends the process on allocations of this size";
#endif
  try {
    cpu_device().allocate(1LL << 60);
    FAIL() << "an exbibyte was allocated";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::internal);
    EXPECT_NE(std::string(e.what()).find(std::to_string(1LL << 60)), std::string::npos) << e.what();
  }
}

TEST(CpuDevice, CopiesAndZeroes) {
  const auto stream = cpu_device().make_stream();
  const std::vector<int> source = {1, 2, 3, 4};
  std::vector<int> a(4), b(4), back(4);
  cpu_device().copy_from_host(a.data(), source.data(), 16, *stream);
  cpu_device().copy(b.data(), a.data(), 16, *stream);
  cpu_device().zero(b.data() + 1, 8, *stream);
  cpu_device().copy_to_host(back.data(), b.data(), 16, *stream);
  stream->synchronize();
  EXPECT_EQ(back, (std::vector<int>{1, 0, 0, 4}));
}

TEST(CpuDevice, EventsAreImmediate) {
  const auto stream = cpu_device().make_stream(), other = cpu_device().make_stream();
  const auto event = cpu_device().make_event();
  stream->record(*event);
  EXPECT_TRUE(event->complete());
  other->wait(*event);
  event->synchronize();
  EXPECT_EQ(&stream->device(), &cpu_device());
  EXPECT_EQ(stream->native(), nullptr);
}

}  // namespace
}  // namespace octet

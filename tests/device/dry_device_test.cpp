// A device without memory: addresses, a ledger, and streams that keep time.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "src/device/buffer.h"
#include "src/device/host_buffer.h"

namespace octet {
namespace {

/// Every piece of work takes as many seconds as it has bytes.
struct Seconds final : WorkLog {
  double add(const Stream& stream, const Work& work, const Turn& turn) override {
    begins[&stream].push_back(turn.begin);
    EXPECT_EQ(turn.number, static_cast<std::int64_t>(after.size()));
    after.emplace_back(turn.after.begin(), turn.after.end());
    return static_cast<double>(work.bytes);
  }
  std::map<const Stream*, std::vector<double>> begins;
  std::vector<std::vector<std::int64_t>> after;  ///< by number
};

TEST(DryDevice, CountsBuffersThatLeadNowhere) {
  const auto device = make_dry_device(DeviceType::cuda);
  EXPECT_EQ(device->type(), DeviceType::cuda);
  EXPECT_FALSE(device->has_memory());
  EXPECT_TRUE(cpu_device().has_memory());
  constexpr std::int64_t much = std::int64_t{1} << 42;  // more than any machine has
  {
    const Buffer a(*device, much, Purpose::parameters), b(*device, 10, Purpose::data), c(*device, 0, Purpose::data);
    EXPECT_NE(a.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 256, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 256, 0u);
    EXPECT_GE(b.as<char>() - a.as<char>(), much) << "two buffers share addresses";
    EXPECT_EQ(device->ledger().total().now, much + 10);
  }
  EXPECT_EQ(device->ledger().total().now, 0);
  EXPECT_EQ(device->ledger().usage(Purpose::parameters).peak, much);
}

TEST(DryDevice, HasHostMemoryThatIsZero) {
  const auto device = make_dry_device(DeviceType::cpu);
  const auto stream = device->make_stream();
  const Buffer there(*device, 4, Purpose::data);
  const HostBuffer here(*device, 4);
  EXPECT_EQ(*here.as<std::int32_t>(), 0);
  device->copy_to_host(here.data(), there.data(), 4, *stream);
  device->copy_from_host(there.data(), here.data(), 4, *stream);
  device->zero(there.data(), 4, *stream);
  EXPECT_EQ(*here.as<std::int32_t>(), 0);
}

TEST(DryDevice, StreamsKeepTheTimeOfTheirWorkAndWaitForEvents) {
  Seconds log;
  const auto device = make_dry_device(DeviceType::cpu, &log);
  const auto first = device->make_stream(), second = device->make_stream();
  const auto begin = device->make_timing_event(), end = device->make_timing_event();
  first->record(*begin);
  first->skip({.name = "a", .bytes = 3});
  const auto passed = device->make_event();
  first->record(*passed);
  first->skip({.name = "b", .bytes = 4});
  second->skip({.name = "beside a", .bytes = 1});
  second->wait(*passed);
  second->skip({.name = "behind a, beside b", .bytes = 10});
  second->wait(*passed);  // long ago
  second->record(*end);
  EXPECT_EQ(log.begins[first.get()], (std::vector<double>{0, 3}));
  EXPECT_EQ(log.begins[second.get()], (std::vector<double>{0, 3}));
  const std::vector<std::int64_t> nothing, a{0};
  EXPECT_EQ(log.after, (std::vector{nothing, nothing, nothing, a})) << "b and what is beside a wait for nothing";
  EXPECT_TRUE(end->complete());
  EXPECT_EQ(end->seconds_since(*begin), 13);
}

TEST(DryDevice, WhatAnEventWaitedForIsWaitedForBehindIt) {
  Seconds log;
  const auto device = make_dry_device(DeviceType::cpu, &log);
  const auto first = device->make_stream(), between = device->make_stream(), last = device->make_stream();
  const auto done = device->make_event(), passed = device->make_event();
  first->skip({.name = "a", .bytes = 3});
  first->record(*done);
  between->wait(*done);
  between->record(*passed);
  last->wait(*passed);
  last->skip({.name = "behind a", .bytes = 1});
  last->skip({.name = "behind that", .bytes = 1});
  const std::vector<std::int64_t> nothing, a{0};
  EXPECT_EQ(log.after, (std::vector{nothing, a, nothing}));
}

TEST(DryDevice, AnotherDevicesStreamsHearNothing) {
  const auto stream = cpu_device().make_stream();
  stream->skip({.name = "a", .bytes = 3});
}

}  // namespace
}  // namespace octet

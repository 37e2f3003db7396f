// What weights take of the host on their way to a GPU.
#include "src/train/step/staging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "src/train/step/load_masters.h"
#include "tests/support/workless_device.h"

namespace octet {
namespace {

/// A device whose memory is the CPU's but passes for a GPU's; counts what it gives of the host.
class CountingDevice final : public test::WorklessDevice {
 public:
  int taken = 0;
  std::set<void*> held{};
  std::size_t most_held = 0;

  DeviceType type() const override { return DeviceType::cuda; }
  void* allocate_host(std::int64_t bytes) override {
    void* const memory = WorklessDevice::allocate_host(bytes);
    ++taken;
    held.insert(memory);
    most_held = std::max(most_held, held.size());
    return memory;
  }
  void deallocate_host(void* memory) noexcept override {
    held.erase(memory);
    WorklessDevice::deallocate_host(memory);
  }
  void copy_from_host(void* to, const void* from, std::int64_t bytes, Stream&) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  std::unique_ptr<Stream> make_stream(StreamPriority = StreamPriority::normal) override {
    return std::make_unique<PlainStream>(*this);
  }
  std::unique_ptr<Event> make_event() override { return cpu_device().make_event(); }
  std::unique_ptr<Event> make_timing_event() override { return cpu_device().make_timing_event(); }

 private:
  struct PlainStream final : Stream {
    explicit PlainStream(Device& d) : owner(d) {}
    Device& device() const override { return owner; }
    void record(Event&) override {}
    void wait(const Event&) override {}
    void synchronize() override {}
    Device& owner;
  };
};

ParameterList unit_of(std::int64_t rows) {
  ParameterList list;
  list.parameters.push_back({.name = "weight", .global = {rows, 3}, .shape = {rows, 3}});
  list.parameters.push_back({.name = "norm", .global = {5}, .shape = {5}});
  return list;
}

class StagingTest : public testing::Test {
 protected:
  /// Loads a unit as rank 1 of 2, and looks whether all is where it has to be.
  void load(std::int64_t rows, float value) {
    const ParameterList list = unit_of(rows);
    const ShardLayout layout(list, 1, 2);
    const ShardedBuffer buffer(layout, device_, *stream_, Purpose::parameters);
    std::memset(buffer.all(), 0, static_cast<std::size_t>(layout.bytes()));
    fill_pieces(list, buffer, staging_, [&](std::span<const HostPiece> pieces) {
      for (const HostPiece& p : pieces) std::fill_n(p.data, p.box.extent.elements(), value);
    });
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const Shard& shard = layout.shard(i);
      for (std::int64_t e = 0; e < shard.padded_elements(); ++e) {
        ASSERT_EQ(buffer.data(i)[e], e < shard.elements() ? value : 0.0f) << "padding stays zero";
      }
    }
  }

  CountingDevice device_;
  std::unique_ptr<Stream> stream_ = device_.make_stream();
  Staging staging_{*stream_};
};

TEST_F(StagingTest, TenUnitsShareOneBlock) {
  load(101, 1);
  for (int unit = 1; unit < 10; ++unit) load(101 - unit, static_cast<float>(unit + 1));
  EXPECT_EQ(device_.taken, 1);
}

TEST_F(StagingTest, OneThatIsLargerTakesItsPlace) {
  load(101, 1);
  load(1001, 2);
  load(101, 3);
  EXPECT_EQ(device_.taken, 2);
  EXPECT_EQ(device_.most_held, 1u) << "never two at a time";
}

}  // namespace
}  // namespace octet

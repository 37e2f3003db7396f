#include "src/device/buffer.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

namespace octet {
namespace {

std::int64_t held(Purpose purpose = Purpose::data) {
  return cpu_device().ledger().usage(purpose).now;
}

TEST(Buffer, ReportsItsBytesUntilItIsGone) {
  const std::int64_t before = held();
  {
    Buffer buffer(cpu_device(), 1000, Purpose::data);
    EXPECT_EQ(held(), before + 1000);
    EXPECT_EQ(buffer.bytes(), 1000);
    EXPECT_FALSE(buffer.empty());
    buffer.as<char>()[0] = 1;
    buffer.as<char>()[999] = 2;
    EXPECT_EQ(static_cast<void*>(buffer.as<char>()), buffer.data());
  }
  EXPECT_EQ(held(), before);
}

TEST(Buffer, EmptyOnes) {
  const std::int64_t before = held();
  Buffer none, zero(cpu_device(), 0, Purpose::data);
  EXPECT_TRUE(none.empty() && zero.empty());
  EXPECT_EQ(none.bytes() + zero.bytes(), 0);
  EXPECT_EQ(held(), before);
  EXPECT_FALSE(std::is_copy_constructible_v<Buffer> || std::is_copy_assignable_v<Buffer>);
}

TEST(Buffer, MoveKeepsTheMemory) {
  const std::int64_t before = held();
  Buffer a(cpu_device(), 64, Purpose::data);
  void* const memory = a.data();
  Buffer b(std::move(a));
  EXPECT_EQ(b.data(), memory);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): the moved-from state is what is tested
  EXPECT_EQ(held(), before + 64);
}

TEST(Buffer, AssignmentFreesWhatWasThereAtOnce) {
  const std::int64_t before = held(), before_gathered = held(Purpose::gathered);
  Buffer a(cpu_device(), 64, Purpose::data), b(cpu_device(), 128, Purpose::gathered);
  void* const memory = b.data();
  a = std::move(b);
  EXPECT_EQ(a.data(), memory);
  EXPECT_TRUE(b.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(held(), before);
  EXPECT_EQ(held(Purpose::gathered), before_gathered + 128);
  a = Buffer();
  EXPECT_EQ(held(Purpose::gathered), before_gathered);
  EXPECT_TRUE(a.empty());
}

TEST(Buffer, SelfAssignmentKeepsTheMemory) {
  Buffer a(cpu_device(), 64, Purpose::data);
  void* const memory = a.data();
  Buffer& same = a;
  a = std::move(same);
  EXPECT_EQ(a.data(), memory);
  EXPECT_EQ(a.bytes(), 64);
}

}  // namespace
}  // namespace octet

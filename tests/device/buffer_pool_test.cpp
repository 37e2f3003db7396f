#include "src/device/buffer.h"

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace octet {
namespace {

struct Pool : testing::Test {
  static std::int64_t held() { return cpu_device().ledger().usage(Purpose::gathered).now; }
  std::int64_t before = held();
  BufferPool pool{cpu_device(), Purpose::gathered};
};

TEST_F(Pool, HandsOutWhatCameBack) {
  Buffer first = pool.acquire(1000);
  EXPECT_EQ(first.bytes(), 1000);
  void* memory = first.data();
  pool.give_back(std::move(first));
  EXPECT_EQ(held(), before + 1000);
  const Buffer again = pool.acquire(1000);
  EXPECT_EQ(again.data(), memory);
  EXPECT_EQ(held(), before + 1000);
}

TEST_F(Pool, BuffersInUseAreApart) {
  const Buffer a = pool.acquire(64), b = pool.acquire(64);
  EXPECT_NE(a.data(), b.data());
}

TEST_F(Pool, KeepsAllThatComeBack) {
  Buffer a = pool.acquire(100), b = pool.acquire(200), c = pool.acquire(200);
  const void *at_a = a.data(), *at_b = b.data();
  pool.give_back(std::move(b));
  pool.give_back(std::move(a));
  pool.give_back(std::move(c));
  EXPECT_EQ(held(), before + 500);
  EXPECT_EQ(pool.acquire(200).data(), at_b);
  EXPECT_EQ(pool.acquire(100).data(), at_a);
}

/// So that the pool's peak is its users' peak: what lies idle never adds to it.
TEST_F(Pool, ANewSizeFreesWhatLiesIdleFirst) {
  const Buffer in_use = pool.acquire(50);
  pool.give_back(pool.acquire(1000));
  pool.give_back(pool.acquire(1000));
  EXPECT_EQ(held(), before + 1050);
  cpu_device().ledger().reset_peaks();
  const Buffer smaller = pool.acquire(999);
  EXPECT_EQ(smaller.bytes(), 999);
  EXPECT_EQ(held(), before + 50 + 999);
  EXPECT_EQ(cpu_device().ledger().usage(Purpose::gathered).peak, before + 1050);
}

/// The CPU's memory, as if each call were slow.
struct SlowSource final : MemorySource {
  void* allocate(std::int64_t bytes) override { return cpu_device().allocate(bytes); }
  void deallocate(void* memory, std::int64_t bytes) noexcept override { cpu_device().deallocate(memory, bytes); }
  MemoryLedger& ledger() override { return cpu_device().ledger(); }
  bool cheap() const override { return false; }
};

TEST_F(Pool, WhatIsNotCheapIsKept) {
  SlowSource source;
  BufferPool kept(source, Purpose::gathered);
  Buffer a = kept.acquire(100), b = kept.acquire(100);
  const void* const at_b = b.data();
  kept.give_back(std::move(a));
  kept.give_back(std::move(b));
  kept.give_back(kept.acquire(70));
  EXPECT_EQ(held(), before + 270);
  const Buffer again = kept.acquire(100), other = kept.acquire(100);
  EXPECT_EQ(other.data(), at_b);
  EXPECT_EQ(held(), before + 270);
}

TEST_F(Pool, NothingRemainsAfterIt) {
  {
    BufferPool local(cpu_device(), Purpose::gathered);
    local.give_back(local.acquire(128));
    local.give_back(local.acquire(0));
  }
  EXPECT_EQ(held(), before);
}

}  // namespace
}  // namespace octet

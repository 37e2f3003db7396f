#include "src/device/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "src/base/error.h"

namespace octet {
namespace {

/// Some code that plans and runs: nested scopes and sizes that are not multiples of the alignment.
void use(Arena& arena) {
  arena.allocate(1);
  {
    const ArenaScope scope(arena);
    arena.allocate<float>(100);
    {
      const ArenaScope inner(arena);
      arena.allocate<double>(1000);
    }
    arena.allocate(0);
    arena.allocate(257);
  }
  arena.allocate<char>(300);
}

TEST(Arena, MeasuringPredictsTheRealOne) {
  Arena plan = Arena::measure("plan");
  use(plan);
  EXPECT_TRUE(plan.measuring());
  EXPECT_EQ(plan.high_water(), 256 + 512 + 8192);
  EXPECT_EQ(plan.mark(), 256 + 512);
  EXPECT_EQ(plan.allocate(10), nullptr);

  Arena real(cpu_device(), 256 + 512 + 8192, Purpose::workspace, "real");
  use(real);  // fits exactly
  EXPECT_FALSE(real.measuring());
  EXPECT_EQ(real.high_water(), real.capacity());
  Arena small(cpu_device(), real.capacity() - 1, Purpose::workspace, "small");
  EXPECT_THROW(use(small), Error);
}

TEST(Arena, PiecesAreAlignedAndApart) {
  Arena arena(cpu_device(), 4096, Purpose::workspace, "test");
  char* previous_end = nullptr;
  for (const std::int64_t bytes : {1, 255, 256, 257, 5}) {
    char* piece = static_cast<char*>(arena.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % Arena::alignment, 0u);
    EXPECT_GE(piece, previous_end);
    previous_end = piece + bytes;
  }
}

TEST(Arena, OverflowNamesArenaAndNumbersAndChangesNothing) {
  Arena arena(cpu_device(), 1024, Purpose::workspace, "unit 3");
  arena.allocate(300);
  try {
    arena.allocate(513);
    FAIL() << "513 bytes fitted beside 512 into 1024";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::internal);
    for (const char* part : {"'unit 3'", "513", "512", "1024"}) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << part << " is not in: " << e.what();
    }
  }
  EXPECT_EQ(arena.mark(), 512);
  EXPECT_EQ(arena.high_water(), 512);
  EXPECT_NE(arena.allocate(512), nullptr);
}

TEST(Arena, ScopesGiveBackAndMemoryIsUsedAgain) {
  Arena arena(cpu_device(), 1024, Purpose::workspace, "test");
  void* first = nullptr;
  {
    const ArenaScope scope(arena);
    first = arena.allocate(700);
  }
  EXPECT_EQ(arena.mark(), 0);
  EXPECT_EQ(arena.allocate(1000), first);
  arena.rewind(0);
  EXPECT_EQ(arena.high_water(), 1024);
}

TEST(Arena, ScopeRewindsWhenAnExceptionPasses) {
  Arena arena(cpu_device(), 512, Purpose::workspace, "test");
  try {
    const ArenaScope scope(arena);
    arena.allocate(512);
    arena.allocate(1);
  } catch (const Error&) {
    EXPECT_EQ(arena.mark(), 0);
  }
  EXPECT_NO_THROW(arena.allocate(512));
}

TEST(Arena, HoldsItsCapacityUnderItsPurpose) {
  const auto held = [] { return cpu_device().ledger().usage(Purpose::activations).now; };
  const std::int64_t before = held();
  {
    const Arena arena(cpu_device(), 2048, Purpose::activations, "test");
    EXPECT_EQ(held(), before + 2048);
    const Arena plan = Arena::measure("plan");
    EXPECT_EQ(plan.capacity(), 0);
    EXPECT_EQ(held(), before + 2048);
  }
  EXPECT_EQ(held(), before);
}

}  // namespace
}  // namespace octet

#include "src/device/memory_ledger.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace octet {
namespace {

TEST(MemoryLedger, CountsNowAndPeakByPurpose) {
  MemoryLedger ledger;
  ledger.add(Purpose::parameters, 100);
  ledger.add(Purpose::workspace, 50);
  ledger.remove(Purpose::workspace, 50);
  ledger.add(Purpose::workspace, 20);
  EXPECT_EQ(ledger.usage(Purpose::parameters).now, 100);
  EXPECT_EQ(ledger.usage(Purpose::workspace).now, 20);
  EXPECT_EQ(ledger.usage(Purpose::workspace).peak, 50);
  EXPECT_EQ(ledger.usage(Purpose::data).peak, 0);
  EXPECT_EQ(ledger.total().now, 120);
  EXPECT_EQ(ledger.total().peak, 150);
}

TEST(MemoryLedger, PeakOfTheSumIsNotTheSumOfPeaks) {
  MemoryLedger ledger;
  ledger.add(Purpose::gathered, 70);
  ledger.remove(Purpose::gathered, 70);
  ledger.add(Purpose::activations, 80);
  EXPECT_EQ(ledger.total().peak, 80);
}

TEST(MemoryLedger, ResetPeaksForgetsWhatIsGone) {
  MemoryLedger ledger;
  ledger.add(Purpose::data, 30);
  ledger.remove(Purpose::data, 10);
  ledger.reset_peaks();
  EXPECT_EQ(ledger.usage(Purpose::data).peak, 20);
  EXPECT_EQ(ledger.total().peak, 20);
}

TEST(MemoryLedger, ThreadsDoNotLoseCounts) {
  MemoryLedger ledger;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        ledger.add(Purpose::workspace, 3);
        ledger.remove(Purpose::workspace, 2);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(ledger.usage(Purpose::workspace).now, 20000);
  EXPECT_EQ(ledger.total().now, 20000);
}

TEST(MemoryLedger, EveryPurposeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int p = 0; p < static_cast<int>(Purpose::count); ++p) names.insert(name_of(static_cast<Purpose>(p)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Purpose::count));
  EXPECT_FALSE(names.contains("?"));
}

}  // namespace
}  // namespace octet

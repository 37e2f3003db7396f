// Texts of the configuration that stand for times and intervals.
#include <gtest/gtest.h>

#include "src/run_config/options/option_texts.h"

namespace octet {
namespace {

using Kind = checkpoint::Interval::Kind;

TEST(CheckpointInterval, Forms) {
  EXPECT_EQ(parse_interval("off")->kind, Kind::off);
  EXPECT_EQ(parse_interval("auto")->kind, Kind::automatic);
  for (const char* text : {"250", "250 steps"}) {
    const auto interval = parse_interval(text);
    ASSERT_TRUE(interval) << text;
    EXPECT_EQ(interval->kind, Kind::steps);
    EXPECT_EQ(interval->steps, 250);
  }
  EXPECT_EQ(parse_interval("20 min")->kind, Kind::seconds);
  EXPECT_EQ(parse_interval("20 min")->seconds, 1200);
  EXPECT_EQ(parse_interval("0.5 min")->seconds, 30);
}

TEST(CheckpointInterval, NothingElse) {
  for (const char* text : {"", "0", "-5", "1.5", "5 step", "5 hours", "0 min", "-1 min", "nan min", "20min", "20  min",
                           "20 min ", " 20", "Auto", "never", "2000000000", "1e9 min", "min", "5 off"}) {
    EXPECT_FALSE(parse_interval(text)) << text;
  }
}

TEST(CheckpointInterval, OfAConfiguration) {
  CheckpointConfig config;
  config.failure_gpu_hours = 1000;
  const checkpoint::Interval interval = interval_of(config, 16);
  EXPECT_EQ(interval.kind, Kind::automatic);
  EXPECT_EQ(interval.failure_gpu_hours, 1000);
  EXPECT_EQ(interval.devices, 16);
}

TEST(CheckpointWriters, Forms) {
  EXPECT_EQ(parse_writers("all"), 0);
  EXPECT_EQ(parse_writers("1"), 1);
  EXPECT_EQ(parse_writers("64"), 64);
  for (const char* text : {"", "0", "-1", "1.5", "All", "none", "1 ", "9999999"})
    EXPECT_FALSE(parse_writers(text)) << text;
}

TEST(WallTime, Forms) {
  EXPECT_EQ(parse_wall_time("0"), 0);
  EXPECT_EQ(parse_wall_time("90"), 5400);
  EXPECT_EQ(parse_wall_time("0.5"), 30);
  EXPECT_EQ(parse_wall_time("0:00:03"), 3);
  EXPECT_EQ(parse_wall_time("1:02:03"), 3723);
  EXPECT_EQ(parse_wall_time("23:59:59"), 86399);
  EXPECT_EQ(parse_wall_time("100:00:00"), 360000);
}

TEST(WallTime, NothingElse) {
  for (const char* text : {"", "-1", "nan", "1e300", "1:30", "1:2:3", "1:60:00", "1:00:60", ":00:10", "1:00:00:00",
                           "1:-1:00", "1h", "90 min", "+1:00:00", "9999999:00:00", "1:00:0x"}) {
    EXPECT_FALSE(parse_wall_time(text)) << text;
  }
}

}  // namespace
}  // namespace octet

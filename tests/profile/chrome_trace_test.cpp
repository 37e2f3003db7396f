#include "src/profile/chrome_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace octet {
namespace {

TEST(ChromeTrace, HasNamesStepsAndSpans) {
  Recording r;
  r.streams = {"host", "model", "gathers"};
  r.steps = {{10, 0, 0.5}};
  r.spans = {{.name = "all_gather",
              .kind = SpanKind::communication,
              .part = StepPart::backward,
              .unit = "a \"quoted\" unit",
              .group = "dp_shard",
              .bytes = 4096,
              .bus_bytes = 2048,
              .stream = 2,
              .begin = 0.25,
              .end = 0.2500015}};
  r.wall = 1;
  const auto events = nlohmann::json::parse(chrome_trace(r, 3, "node-17"))["traceEvents"];
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[0]["ph"], "M");
  EXPECT_EQ(events[0]["name"], "process_name");
  EXPECT_EQ(events[0]["args"]["name"], "rank 3 on node-17");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(events[1 + i]["name"], "thread_name");
    EXPECT_EQ(events[1 + i]["tid"], i);
    EXPECT_EQ(events[1 + i]["args"]["name"], r.streams[i]);
  }
  EXPECT_EQ(events[4]["cat"], "step");
  EXPECT_EQ(events[4]["name"], "step 10");
  EXPECT_EQ(events[4]["dur"], 5e5);
  const auto expected =
      nlohmann::json::parse(R"({"ph": "X", "name": "all_gather", "cat": "communication", "ts": 250000.0,
      "dur": 1.5, "pid": 3, "tid": 2, "args": {"phase": "backward", "unit": "a \"quoted\" unit", "group": "dp_shard",
      "bytes": 4096}})");
  EXPECT_EQ(events[5], expected);
}

}  // namespace
}  // namespace octet

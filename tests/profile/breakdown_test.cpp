#include "src/profile/breakdown.h"

#include <gtest/gtest.h>

#include <random>

namespace octet {
namespace {

Span span(SpanKind kind, double begin, double end, int stream = 1) {
  return {.name = "x", .kind = kind, .stream = stream, .begin = begin, .end = end};
}

double parts_of(const Breakdown& b) {
  return b.gemm + b.attention + b.memory_bound + b.exposed_communication + b.host + b.idle;
}

TEST(Breakdown, NothingIsIdle) {
  const Breakdown b = break_down({}, 3);
  EXPECT_EQ(b.idle, 3);
  EXPECT_EQ(b.wall, 3);
  EXPECT_EQ(parts_of(b), 3);
}

TEST(Breakdown, EveryMomentCountsOnce) {
  // 0  gemm 4; a gather from 2 to 7 on another stream; a cast on that stream from 3 to 5; host 6 to 9; wall 10.
  const Breakdown b = break_down({span(SpanKind::gemm, 0, 4), span(SpanKind::communication, 2, 7, 2),
                                  span(SpanKind::memory_bound, 3, 5, 2), span(SpanKind::host, 6, 9, 0)},
                                 10);
  EXPECT_DOUBLE_EQ(b.gemm, 4);
  EXPECT_DOUBLE_EQ(b.memory_bound, 1);
  EXPECT_DOUBLE_EQ(b.overlapped_communication, 3);
  EXPECT_DOUBLE_EQ(b.exposed_communication, 2);
  EXPECT_DOUBLE_EQ(b.host, 2);
  EXPECT_DOUBLE_EQ(b.idle, 1);
  EXPECT_DOUBLE_EQ(b.attention, 0);
}

TEST(Breakdown, SpansOfOneKindAreTheirUnion) {
  const Breakdown b =
      break_down({span(SpanKind::attention, 1, 4), span(SpanKind::attention, 2, 3, 2), span(SpanKind::attention, 4, 5),
                  span(SpanKind::communication, 6, 8, 2), span(SpanKind::communication, 7, 9, 3)},
                 9);
  EXPECT_DOUBLE_EQ(b.attention, 4);
  EXPECT_DOUBLE_EQ(b.exposed_communication, 3);
  EXPECT_DOUBLE_EQ(b.idle, 2);
}

TEST(Breakdown, WhatLiesOutsideDoesNotCount) {
  const Breakdown b =
      break_down({span(SpanKind::gemm, -1, 1), span(SpanKind::host, 3, 7), span(SpanKind::gemm, 8, 9)}, 4);
  EXPECT_DOUBLE_EQ(b.gemm, 1);
  EXPECT_DOUBLE_EQ(b.host, 1);
  EXPECT_DOUBLE_EQ(parts_of(b), 4);
}

TEST(Breakdown, AgreesWithCountingMomentByMoment) {
  std::mt19937 random(5);
  constexpr int wall = 200;
  for (int round = 0; round < 20; ++round) {
    std::vector<Span> spans;
    for (int i = 0; i < 30; ++i) {
      const auto begin = static_cast<int>(random() % wall), length = static_cast<int>(random() % 20);
      spans.push_back(span(static_cast<SpanKind>(random() % span_kinds), begin, begin + length));
    }
    Breakdown expected;
    for (int moment = 0; moment < wall; ++moment) {
      const auto runs = [&](SpanKind kind) {
        for (const Span& s : spans) {
          if (s.kind == kind && s.begin <= moment && moment < s.end) return true;
        }
        return false;
      };
      const bool kernel = runs(SpanKind::gemm) || runs(SpanKind::attention) || runs(SpanKind::memory_bound);
      if (runs(SpanKind::gemm)) {
        ++expected.gemm;
      } else if (runs(SpanKind::attention)) {
        ++expected.attention;
      } else if (runs(SpanKind::memory_bound)) {
        ++expected.memory_bound;
      } else if (runs(SpanKind::communication)) {
        ++expected.exposed_communication;
      } else if (runs(SpanKind::host)) {
        ++expected.host;
      } else {
        ++expected.idle;
      }
      if (kernel && runs(SpanKind::communication)) ++expected.overlapped_communication;
    }
    const Breakdown b = break_down(spans, wall);
    for (const BreakdownField& field : breakdown_fields) {
      EXPECT_NEAR(b.*field.seconds, expected.*field.seconds, 1e-9) << field.name;
    }
    EXPECT_NEAR(parts_of(b), wall, 1e-9);
  }
}

TEST(SpanTotals, AreByNameKindAndPartLongestFirst) {
  Span forward = span(SpanKind::gemm, 0, 1), backward = span(SpanKind::gemm, 1, 4),
       gather = span(SpanKind::communication, 0, 2);
  forward.part = StepPart::forward;
  backward.part = StepPart::backward;
  forward.bytes = 10;
  backward.bytes = 20;
  gather.name = "all_gather";
  const std::vector<SpanTotal> totals = span_totals({forward, gather, backward, forward});
  ASSERT_EQ(totals.size(), 3u);
  EXPECT_EQ(totals[0].part, StepPart::backward);
  EXPECT_EQ(totals[0].seconds, 3);
  EXPECT_EQ(totals[0].calls, 1);
  EXPECT_EQ(totals[1].name, "all_gather") << "equal times in the order of the names";
  EXPECT_EQ(totals[2].part, StepPart::forward);
  EXPECT_EQ(totals[2].calls, 2);
  EXPECT_EQ(totals[2].bytes, 20);
}

}  // namespace
}  // namespace octet

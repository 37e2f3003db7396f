#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/span_attention.h"

namespace octet::cpu::attention {

/// The keys of [begin, end) that any of some neighbouring queries sees, in rising order.
class SpanKeys {
 public:
  /// `spans` is SpanAttention::spans of the first of at most `most_queries` queries.
  static constexpr std::int64_t most_queries = 64;
  SpanKeys(const std::int32_t* spans, std::int64_t queries, std::int64_t begin, std::int64_t end) {
    for (std::int64_t q = 0; q < queries; ++q) {
      uniform_ = uniform_ && std::equal(spans, spans + 4, spans + 4 * q);
      for (const std::int64_t span : {0, 2}) {
        const std::int64_t from = std::max<std::int64_t>(spans[4 * q + span], begin);
        const std::int64_t to = std::min<std::int64_t>(spans[4 * q + span + 1], end);
        if (from < to && !known(from, to)) runs_[static_cast<std::size_t>(count_++)] = {from, to};
      }
    }
    merge();
  }

  /// All the queries see all the keys.
  bool uniform() const { return uniform_; }

  /// The next keys, at most `most`; returns how many.
  std::int64_t next(std::int32_t* keys, std::int64_t most) {
    std::int64_t n = 0;
    while (n < most && at_ < count_) {
      Run& run = runs_[static_cast<std::size_t>(at_)];
      while (n < most && run.begin < run.end) keys[n++] = static_cast<std::int32_t>(run.begin++);
      if (run.begin == run.end) ++at_;
    }
    return n;
  }

 private:
  struct Run {
    std::int64_t begin, end;
  };

  /// Neighbours mostly see what the last one saw.
  bool known(std::int64_t from, std::int64_t to) const {
    for (std::int64_t i = std::max<std::int64_t>(0, count_ - 2); i < count_; ++i) {
      const Run& run = runs_[static_cast<std::size_t>(i)];
      if (run.begin <= from && to <= run.end) return true;
    }
    return false;
  }

  void merge() {
    std::sort(runs_.begin(), runs_.begin() + count_, [](Run a, Run b) { return a.begin < b.begin; });
    std::int64_t merged = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      const Run run = runs_[static_cast<std::size_t>(i)];
      Run* last = merged == 0 ? nullptr : &runs_[static_cast<std::size_t>(merged - 1)];
      if (last != nullptr && run.begin <= last->end) {
        last->end = std::max(last->end, run.end);
      } else {
        runs_[static_cast<std::size_t>(merged++)] = run;
      }
    }
    count_ = merged;
  }

  std::array<Run, 2 * most_queries> runs_;  // the first count_
  std::int64_t count_ = 0, at_ = 0;
  bool uniform_ = true;
};

}  // namespace octet::cpu::attention

#include "src/evaluate/windows.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

// The windows that lm-eval-harness 0.4.13 makes of the same numbers:
//   [make_disjoint_window(w) for w in get_rolling_token_windows(list(range(n)), -1, window, window - stride + 1)]
TEST(RollingWindows, AreThoseOfLmEval) {
  EXPECT_EQ(rolling_windows(3, 4, 4), (std::vector<Window>{{-1, 0, 3}}));
  EXPECT_EQ(rolling_windows(4, 4, 4), (std::vector<Window>{{-1, 0, 4}}));
  EXPECT_EQ(rolling_windows(8, 4, 4), (std::vector<Window>{{-1, 0, 4}, {3, 4, 8}}));
  EXPECT_EQ(rolling_windows(10, 4, 4), (std::vector<Window>{{-1, 0, 4}, {3, 4, 8}, {5, 8, 10}}));
  EXPECT_EQ(rolling_windows(9, 4, 2), (std::vector<Window>{{-1, 0, 4}, {1, 4, 6}, {3, 6, 8}, {4, 8, 9}}));
  EXPECT_EQ(rolling_windows(3, 1, 1), (std::vector<Window>{{-1, 0, 1}, {0, 1, 2}, {1, 2, 3}}));
}

TEST(RollingWindows, PredictEveryTokenOnceAndFitTheModel) {
  for (std::int64_t window = 1; window < 9; ++window) {
    for (std::int64_t stride = 1; stride <= window; ++stride) {
      for (std::int64_t tokens = 0; tokens < 40; ++tokens) {
        std::int64_t next = 0;
        for (const Window& w : rolling_windows(tokens, window, stride)) {
          EXPECT_EQ(w.first, next);
          EXPECT_LT(w.first, w.end);
          EXPECT_LT(w.context, w.first);
          EXPECT_EQ(w.end - 1 - w.context, w.first == 0 ? w.end : window);  // what the model sees
          next = w.end;
        }
        EXPECT_EQ(next, tokens);
      }
    }
  }
}

}  // namespace
}  // namespace octet

#pragma once

#include <gtest/gtest.h>

/// `part` stands somewhere in `text`; else both are shown.
#define EXPECT_HAS(text, part) EXPECT_PRED_FORMAT2(testing::IsSubstring, part, text)

#include "src/base/error.h"

#include <gtest/gtest.h>

#include "src/base/dtype.h"

namespace octet {
namespace {

TEST(Error, MessageHasRoomAndValuesAndCode) {
  const Error usage = usage_error("data", "{}: token {} is above the vocabulary of {}", "a.bin", 300, 256);
  EXPECT_STREQ(usage.what(), "[data] a.bin: token 300 is above the vocabulary of 256");
  EXPECT_EQ(usage.code(), ExitCode::usage);
  const Error internal = internal_error("comm", "plain");
  EXPECT_STREQ(internal.what(), "[comm] plain");
  EXPECT_EQ(internal.code(), ExitCode::internal);
}

TEST(Error, BracesInValuesAreText) {
  EXPECT_STREQ(usage_error("base", "{}", "{} {0}").what(), "[base] {} {0}");
}

TEST(Error, IsCaughtAsStandardException) {
  try {
    throw Error(ExitCode::non_finite, "loss");
  } catch (const std::exception& e) {
    EXPECT_STREQ(e.what(), "loss");
    EXPECT_EQ(dynamic_cast<const Error&>(e).code(), ExitCode::non_finite);
  }
}

TEST(Error, ExitCodesThatScriptsRelyOn) {
  EXPECT_EQ(static_cast<int>(ExitCode::finished), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::usage), 64);
  EXPECT_EQ(static_cast<int>(ExitCode::internal), 70);
  EXPECT_EQ(static_cast<int>(ExitCode::lost_peer), 71);
  EXPECT_EQ(static_cast<int>(ExitCode::resumable), 75);
  EXPECT_EQ(static_cast<int>(ExitCode::unhealthy), 76);
  EXPECT_EQ(static_cast<int>(ExitCode::non_finite), 77);
  EXPECT_EQ(static_cast<int>(ExitCode::interrupted), 130);
  EXPECT_EQ(static_cast<int>(ExitCode::terminated), 143);
}

TEST(DType, SizesNamesAndLimits) {
  EXPECT_EQ(size_of(DType::f32), 4);
  EXPECT_EQ(size_of(DType::i32), 4);
  EXPECT_EQ(size_of(DType::bf16), static_cast<std::int64_t>(sizeof(bf16)));
  EXPECT_EQ(size_of(DType::e4m3), static_cast<std::int64_t>(sizeof(e4m3)));
  EXPECT_EQ(size_of(DType::e5m2), 1);
  EXPECT_EQ(size_of(DType::u8), 1);
  EXPECT_EQ(name_of(DType::e4m3), "e4m3");
  EXPECT_EQ(name_of(DType::bf16), "bf16");
  EXPECT_TRUE(is_float8(DType::e4m3) && is_float8(DType::e5m2));
  EXPECT_FALSE(is_float8(DType::u8) || is_float8(DType::bf16));
  EXPECT_EQ(float8_max(DType::e4m3), 448.0f);
  EXPECT_EQ(float8_max(DType::e5m2), 57344.0f);
  EXPECT_THROW(float8_max(DType::bf16), Error);
  EXPECT_EQ(dtype_of<bf16>::value, DType::bf16);
  EXPECT_EQ(dtype_of<float>::value, DType::f32);
}

}  // namespace
}  // namespace octet

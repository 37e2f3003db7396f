#include "src/base/options/byte_size.h"

#include <gtest/gtest.h>

#include <string>

#include "src/base/error.h"

namespace octet {
namespace {

TEST(ByteSize, LettersArePowersOf1024AsInNcclTests) {
  EXPECT_EQ(parse_bytes("1", "--size"), 1);
  EXPECT_EQ(parse_bytes("4096B", "--size"), 4096);
  EXPECT_EQ(parse_bytes("64K", "--size"), 64 << 10);
  EXPECT_EQ(parse_bytes("64k", "--size"), 64 << 10);
  EXPECT_EQ(parse_bytes("1.5M", "--size"), 3 << 19);
  EXPECT_EQ(parse_bytes("2GiB", "--size"), std::int64_t{2} << 30);
  EXPECT_EQ(parse_bytes("1T", "--size"), std::int64_t{1} << 40);
  EXPECT_EQ(parse_bytes("9007199254740993", "--size"), 9007199254740993) << "more digits than a double has";
}

TEST(ByteSize, UnitsWithBArePowersOf1000) {
  EXPECT_EQ(parse_bytes("5GB", "--size"), 5'000'000'000);
  EXPECT_EQ(parse_bytes("500 MB", "--size"), 500'000'000);
  EXPECT_EQ(parse_bytes("0.5KB", "--size"), 500);
}

TEST(ByteSize, AnythingElseIsRefusedWithOptionAndValue) {
  for (const std::string text : {"",    "M",   "0",     "-1",       "-1K",   "1.5",         "8Q",    "8 ",   "5kB",
                                 "5gb", "5Mi", "1e6",   "0.0001K",  "1..5M", "9999999999T", "1.5.M", "+8",   "08",
                                 "nan", "inf", "0x10K", "64M junk", "K64",   "99999999.5T", ".",     "1 000"}) {
    try {
      parse_bytes(text, "--size");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_NE(std::string(error.what()).find("--size = \"" + text + "\": expected bytes"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace octet

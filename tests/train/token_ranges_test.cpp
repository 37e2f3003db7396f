#include "src/train/start/token_ranges.h"

#include "src/data/data_facts.h"
#include "tests/data/support.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

/// Three sources of which nothing is known: a and c of 600 bytes, and bad of 900, whose last id the vocabulary has not.
class TokenRanges : public testing::Test {
 protected:
  TokenRanges() {
    write("a", 600, 1);
    write("bad", 900, 200);
    write("c", 600, 3);
  }

  std::string data(const std::string& name) const { return folder_ / ("data/" + name); }

  void write(const std::string& name, std::int64_t tokens, int last) const {
    fs::create_directories(folder_ / "data");
    write_tokens(data(name), tokens, TokenType::u8, [&](std::int64_t i) { return i == tokens - 1 ? last : 0; });
    fs::remove(data(name) + ".data.json");
  }

  /// What the check says before the run begins, or the message with which it refuses the data.
  std::string check(std::int64_t most_scanned) const {
    const Sampler sampler({{data("a"), 1.0}, {data("bad"), 1.0}, {data("c"), 1.0}},
                          {.seq_len = 8, .global_batch = 1, .vocab_size = 100, .seed = 0, .validation_fraction = 0});
    testing::internal::CaptureStderr();
    std::string refused;
    try {
      check_token_ranges(sampler, folder_ / "run", most_scanned);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      refused = error.what();
    }
    return testing::internal::GetCapturedStderr() + refused;
  }

  TempFolder folder_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(TokenRanges, SourcesTogetherHaveOneLimitBeforeTheRunAndWhatIsLeftOutIsNamed) {
  const std::string some = check(1300);
  EXPECT_TRUE(has(some, "a.bin has token ids from 0 to 1; 600 B scanned")) << some;
  EXPECT_TRUE(has(some, "bad.bin has 900 B, whose token ids are not looked at here, where 1.3 KiB are scanned at most"))
      << some;
  EXPECT_TRUE(has(some, "c.bin has token ids from 0 to 3; 600 B scanned")) << some;
  EXPECT_TRUE(has(check(1199), "c.bin has 600 B, whose token ids are not looked at here"));
  EXPECT_TRUE(has(check(2100), "bad.bin: its largest token id is 200, at position 899 of 900"));
}

TEST_F(TokenRanges, WhatTheRunRemembersCountsAsKnownAndNothingIsWritten) {
  const TokenFile a(data("a"));
  const std::string remembered = folder_ / fmt::format("run/token-ranges/{:016x}.json", a.fingerprint());
  fs::create_directories(folder_ / "run/token-ranges");
  ASSERT_TRUE(write_data_facts(remembered, a, {.range = {.smallest = {0, 0}, .largest = {1, 599}}}));
  const std::string said = check(600);
  EXPECT_FALSE(has(said, "a.bin")) << said;
  EXPECT_TRUE(has(said, "c.bin has token ids from 0 to 3; 600 B scanned")) << said;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "data"), {}), 6);
  EXPECT_EQ(std::distance(fs::recursive_directory_iterator(folder_ / "run"), {}), 2);
}

/// A part whose side file is gone is the only one that is read.
TEST_F(TokenRanges, OfPartsThoseThatSayNothingAreScanned) {
  for (int part = 1; part <= 3; ++part) {
    fs::create_directories(folder_ / "data");
    write_tokens(data(fmt::format("p-{:05}-of-00003", part)), 500 * part, TokenType::u8,
                 [&](std::int64_t i) { return i == 7 ? 20 + part : 10; });
  }
  fs::remove(data("p-00002-of-00003.data.json"));
  const auto checked = [&](std::int64_t vocab_size, std::int64_t most_scanned) {
    const Sampler sampler(
        {{data("p"), 1.0}},
        {.seq_len = 8, .global_batch = 1, .vocab_size = vocab_size, .seed = 0, .validation_fraction = 0});
    testing::internal::CaptureStderr();
    std::string refused;
    try {
      check_token_ranges(sampler, folder_ / "run", most_scanned);
    } catch (const Error& error) {
      refused = error.what();
    }
    return testing::internal::GetCapturedStderr() + refused;
  };
  const std::string said = checked(100, 1000);
  EXPECT_TRUE(has(said, "p-00002-of-00003.data.json: is missing beside ")) << said;
  EXPECT_TRUE(has(said, "has token ids from 10 to 23; 1000 B scanned")) << said;
  EXPECT_TRUE(has(checked(100, 999), "has 1000 B, whose token ids are not looked at here"));
  EXPECT_TRUE(has(checked(23, 1000), "its largest token id is 23, at position 1507 of 3000"));
}

}  // namespace
}  // namespace octet::test

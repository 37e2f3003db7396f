// Messages that are not what their reader takes them for.
#include "src/comm/packing.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/support/expect_has.h"

namespace octet {
namespace {

template <typename Call>
std::string error_of(const Call& call) {
  return test::error_of(call, ExitCode::internal);
}

TEST(Packing, GivesBackWhatWasPut) {
  const std::string bytes = Packer().put(std::int32_t{-3}, std::string("two words"), ExitCode::usage, true).bytes();
  Unpacker unpacker(bytes);
  EXPECT_EQ(unpacker.take<std::int32_t>(), -3);
  EXPECT_EQ(unpacker.take_text(), "two words");
  EXPECT_EQ(unpacker.take<ExitCode>(), ExitCode::usage);
  EXPECT_TRUE(unpacker.take<bool>());
  unpacker.expect_end();
}

TEST(Packing, AMessageThatEndsEarlyIsAnError) {
  const std::string bytes = Packer().put(std::int64_t{7}, std::string("text")).bytes();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    Unpacker unpacker(std::string_view(bytes).substr(0, length));
    EXPECT_HAS(error_of([&] {
                 unpacker.take<std::int64_t>();
                 unpacker.take_text();
               }),
               "a message between ranks ends after ");
  }
}

TEST(Packing, ALengthThatIsNoneIsAnError) {
  for (const std::int64_t length : {std::int64_t{-1}, std::int64_t{1} << 62}) {
    const std::string bytes = Packer().put(length, std::int64_t{0}).bytes();
    EXPECT_HAS(error_of([&] { Unpacker(bytes).take_text(); }), "a message between ranks ends after 8 of ");
  }
}

TEST(Packing, WhatIsLeftIsAnError) {
  const std::string bytes = Packer().put(std::int64_t{7}, std::int32_t{8}).bytes();
  Unpacker unpacker(bytes);
  unpacker.take<std::int64_t>();
  EXPECT_HAS(error_of([&] { unpacker.expect_end(); }), "a message between ranks has 4 bytes too many");
  unpacker.take<std::int32_t>();
  unpacker.expect_end();
}

}  // namespace
}  // namespace octet

// Work where the system gives no thread: it is done later, and what ends a program then says so.
#include "src/base/in_background.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/base/reason.h"
#include "tests/support/no_threads.h"

namespace octet {
namespace {

auto joined(const std::string& before) {
  return [before, words = std::vector<std::string>{"a long enough word for the heap", "b"}] {
    std::string text = before;
    for (const std::string& word : words) text += word;
    return text;
  };
}

TEST(InBackground, RunsOnAThread) {
  const std::thread::id mine = std::this_thread::get_id();
  EXPECT_NE(in_background([] { return std::this_thread::get_id(); }).get(), mine);
  EXPECT_EQ(in_background(joined("x ")).get(), "x a long enough word for the heapb");
}

TEST(InBackground, WithoutAThreadItRunsWithAllItGotWhenItsResultIsAskedFor) {
  const test::NoThreads none;
  ASSERT_THROW(std::thread([] {}), std::system_error) << "this test needs that no thread can be made";
  auto result = in_background(joined("a text that is moved where it can be "));
  EXPECT_EQ(result.wait_for(std::chrono::seconds(0)), std::future_status::deferred);
  EXPECT_EQ(result.get(), "a text that is moved where it can be a long enough word for the heapb");
}

TEST(Reason, OfAThreadThatIsNotGivenNamesTheLimit) {
  EXPECT_EQ(reason_of(internal_error("data", "x")), "[data] x");
  const test::NoThreads none;
  try {
    std::thread([] {}).join();
    ADD_FAILURE() << "nothing thrown";
  } catch (const std::exception& error) {
    EXPECT_NE(reason_of(error).find("ulimit -u"), std::string::npos) << reason_of(error);
  }
}

TEST(EndWithReason, IsTheCodeOfWhatWasThrown) {
  EXPECT_EQ(end_with_reason("octet", [] { return 5; }), 5);
  testing::internal::CaptureStderr();
  EXPECT_EQ(end_with_reason("octet", []() -> int { throw usage_error("data", "one"); }), 64);
  EXPECT_EQ(end_with_reason("octet", []() -> int { throw std::runtime_error("two"); }), 70);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("[data] one"), std::string::npos) << said;
  EXPECT_NE(said.find("[octet] two"), std::string::npos) << said;
}

}  // namespace
}  // namespace octet

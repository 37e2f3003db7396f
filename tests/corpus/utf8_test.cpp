#include "src/corpus/utf8.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace octet {
namespace {

using namespace std::string_literals;

const std::string mark = "\xEF\xBF\xBD";

std::string many(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += mark;
  return text;
}

TEST(Utf8, EachPieceThatIsNoneBecomesOneMarkAsInPython) {
  // The numbers are those of bytes.decode("utf-8", errors="replace") of Python 3.
  const std::vector<std::pair<std::string, int>> cases = {
      {"\x80", 1},         {"\xC0\x80", 2},         {"\xE0\x80\x80", 3}, {"\xE2\x82", 1},         {"\xF0\x9F\x98", 1},
      {"\xED\xA0\x80", 3}, {"\xF4\x90\x80\x80", 4}, {"\xF8\x88", 2},     {"\xE2\x82\xE2\x82", 2}, {"\xF0\x90\xC3", 2},
  };
  for (const auto& [bad, marks] : cases) {
    SCOPED_TRACE(testing::PrintToString(bad));
    std::string out;
    EXPECT_EQ(replace_bad_utf8("a" + bad + "z", out), marks);
    EXPECT_EQ(out, "a" + many(marks) + "z");
    EXPECT_EQ(find_bad_utf8("\xC3\xA9" + bad), 2U);
    EXPECT_FALSE(find_bad_utf8(out));
  }
}

TEST(Utf8, GoodTextStaysAsItIs) {
  const std::string text = "a\0\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF\xEE\x80\x80"s;
  std::string out;
  EXPECT_FALSE(find_bad_utf8(text));
  EXPECT_EQ(replace_bad_utf8(text, out), 0);
  EXPECT_EQ(out, text);
}

TEST(Utf8, HalvesOfSurrogatePairsAreMendedInJson) {
  const std::vector<std::array<std::string, 2>> cases = {
      {R"("\ud83d\ude00")", R"("\ud83d\ude00")"}, {R"("\ud83d")", "\"" + mark + "\""},
      {R"("\uDE00x")", "\"" + mark + "x\""},      {R"("\ud83d\u0041")", "\"" + mark + R"(\u0041")"},
      {R"("\\ud83d\"\x")", R"("\\ud83d\"\x")"},   {R"("\ud83d\ud83d\ude00")", "\"" + mark + R"(\ud83d\ude00")"},
      {"\"\xFF\"", "\"" + mark + "\""},           {"\"\\", "\"\\"},
  };
  for (const auto& [line, expected] : cases) {
    std::string out;
    EXPECT_EQ(mend_json(line, out) > 0, line != expected);
    EXPECT_EQ(out, expected);
  }
}

}  // namespace
}  // namespace octet

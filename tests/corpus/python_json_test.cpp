#include "src/corpus/python_json.h"

#include <gtest/gtest.h>

#include <array>

#include "src/corpus/json_line.h"

namespace octet {
namespace {

TEST(PythonJson, NumbersBecomeZerosAndWordsEmptyLists) {
  const std::vector<std::array<std::string, 2>> cases = {
      {R"({"a": NaN, "b": [Infinity,-Infinity]})", R"({"a": [] , "b": [[]      ,[]       ]})"},
      {R"({"a":123456789012345678901234567890})", R"({"a":0                             })"},
      {R"([1e999,-1.5E-3,0,-0])", R"([0    ,0      ,0,0 ])"},
      {R"({"NaN 12": "\"NaN\\", "b": 7})", R"({"NaN 12": "\"NaN\\", "b": 0})"},
      {"\"NaN", "\"NaN"},
      {"{\"a\": \"\\", "{\"a\": \"\\"},
      {"", ""},
  };
  for (const auto& [python, strict] : cases) EXPECT_EQ(without_python_numbers(python), strict);
}

TEST(PythonJson, IsTakenAsJsonAndNothingElseIs) {
  const std::string big = "123456789012345678901234567890";
  for (const std::string& value : {std::string("NaN"), std::string("Infinity"), std::string("-Infinity"), big,
                                   "-" + big, std::string("1e999"), "[1, {\"b\": NaN}, " + big + "]"}) {
    EXPECT_TRUE(is_json_object("{\"a\": " + value + ", \"text\": \"t\"}")) << value;
  }
  for (const std::string value : {"-NaN", "NaNNaN", "1NaN", "NaN1", "nan", "xNaN", "--Infinity", "+Infinity", "trueNaN",
                                  "Infinityx", "01", "1.", ".5", "1e", "+1", "1-1", "0x1", ""}) {
    EXPECT_FALSE(is_json_object("{\"a\": " + value + ", \"text\": \"t\"}")) << value;
  }
  EXPECT_FALSE(is_json_object("{NaN: 1}"));
  EXPECT_FALSE(is_json_object("{1: 1}"));
}

}  // namespace
}  // namespace octet

#include "src/base/json_reader.h"
#include "tests/support/error_of.h"

#include <gtest/gtest.h>

#include <cmath>

namespace octet {
namespace {

enum class Color : std::uint8_t { red, green };
constexpr auto names_of(Color) {
  return std::to_array<std::string_view>({"red", "green"});
}

/// The message of the usage error that `use` throws of the text; empty for none.
template <typename Use>
std::string refusal(const std::string& text, const Use& use) {
  return test::error_or_none([&] {
    const auto json = parse_json(text, "room", "a.json", "colors");
    use(JsonReader(json, "room", "a.json"));
  });
}

TEST(JsonReader, ReadsEveryKindOfValue) {
  const auto json = parse_json(
      R"({"t":"x","i":-3,"u":18446744073709551615,"n":0.5,"nan":null,"b":true,"c":"green","l":[1,2],"w":["a"],"o":{"k":7}})",
      "room", "a.json", "values");
  const JsonReader r(json, "room", "a.json");
  EXPECT_EQ(r.text("t"), "x");
  EXPECT_EQ(r.integer("i", -3, 4), -3);
  EXPECT_EQ(r.at("u").unsigned_integer(), UINT64_MAX);
  EXPECT_EQ(r.number("n"), 0.5);
  EXPECT_TRUE(std::isnan(r.at("nan").number_or_nan()));
  EXPECT_TRUE(r.boolean("b"));
  EXPECT_EQ(r.choice<Color>("c"), Color::green);
  EXPECT_EQ(r.at("l").integers(0, 9, 2), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(r.at("w").texts(), std::vector<std::string>{"a"});
  ASSERT_EQ(r.at("o").members().size(), 1u);
  EXPECT_EQ(r.at("o").members()[0].second.integer(), 7);
  EXPECT_FALSE(r.has("none") || r.has("nan") || r.contains("none"));
  EXPECT_TRUE(r.has("i") && r.contains("i") && r.contains("nan"));
  EXPECT_EQ(r.at("none").shown(), "nothing");
  EXPECT_TRUE(r.list_or_none("none").empty());
  r.finish();
}

TEST(JsonReader, LongValuesAreCutBetweenCharacters) {
  std::string text = "a";
  for (int i = 0; i < 50; ++i) text += "\u4E2D";
  const nlohmann::json json = text;
  EXPECT_EQ(JsonReader(json, "test", "f.json").shown(), "\"" + text.substr(0, 1 + 3 * 26) + "...");  // 80 bytes
  const nlohmann::json longer = "bc" + text;
  EXPECT_EQ(JsonReader(longer, "test", "f.json").shown(), "\"bc" + text.substr(0, 1 + 3 * 25) + "...");
}

TEST(JsonReader, ErrorsNameFileKeyValueAndWhatWasExpected) {
  const std::string text = R"({"rows":[{"us":1},{"us":"fast","more":1}],"big":9223372036854775808,"color":"blue"})";
  using R = const JsonReader&;
  EXPECT_EQ(refusal(text, [](R r) { r.text("name"); }), "[room] a.json: name is missing; expected a text");
  EXPECT_EQ(refusal(text, [](R r) { r.list("rows")[1].number("us"); }),
            "[room] a.json: rows[1].us is \"fast\"; expected a number");
  EXPECT_EQ(refusal(text, [](R r) { r.list("rows")[0].integer("us", 2, 5); }),
            "[room] a.json: rows[0].us is 1; expected an integer of 2 to 5");
  EXPECT_EQ(refusal(text, [](R r) { r.integer("big"); }),
            "[room] a.json: big is 9223372036854775808; expected an integer");
  EXPECT_EQ(refusal(text, [](R r) { r.choice<Color>("color"); }),
            "[room] a.json: color is \"blue\"; expected one of red, green");
  EXPECT_EQ(refusal(text, [](R r) { r.at("rows").integers(0, 9, 3); }).find("[room] a.json: rows is "), 0u);
  EXPECT_EQ(refusal(text,
                    [](R r) {
                      const JsonReader row = r.list("rows")[1];
                      row.at("us");
                      row.at("us");
                      row.finish();
                    }),
            "[room] a.json: rows[1]: unknown key more; expected one of us");
  EXPECT_EQ(refusal("[1]", [](R r) { r.text("name"); }), "[room] a.json is [1]; expected an object");
}

TEST(JsonReader, WhatIsNoJsonAKeyThatStandsTwiceAndDeepNestingAreRefused) {
  const auto nothing = [](const JsonReader&) {};
  EXPECT_EQ(refusal("{\n \"a\": ,\n}", nothing).find("[room] a.json:2: no valid JSON; expected colors: "), 0u);
  EXPECT_EQ(refusal("{\"a\": x}\n", nothing).find("[room] a.json: no valid JSON"), 0u) << "one line";
  EXPECT_EQ(refusal("", nothing).find("[room] a.json: no valid JSON; expected colors: "), 0u);
  EXPECT_EQ(refusal("{\"a\": 1e999}", nothing).find("[room] a.json"), 0u);
  EXPECT_EQ(refusal(R"({"o":{"a":1,"a":2}})", nothing),
            "[room] a.json: the key \"a\" stands twice in one object; expected once");
  EXPECT_EQ(refusal(R"({"o":{"a":1},"p":{"a":2}})", nothing), "");
  for (const char* inner : {"[", "{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 200'000; ++i) deep += inner;
    EXPECT_EQ(refusal(deep, nothing), "[room] a.json: nested deeper than 32; expected less");
  }
  EXPECT_EQ(refusal(std::string(32, '[') + "1" + std::string(32, ']'), nothing), "");
}

TEST(JsonReader, WhatATextBringsIsCutInMessages) {
  const std::string big(100'000, 'x');
  const auto nothing = [](const JsonReader&) {};
  EXPECT_LT(refusal("\"" + big, nothing).size(), 500u) << "no end of a text";
  EXPECT_LT(refusal("{\"" + big + "\":1,\"" + big + "\":2}", nothing).size(), 500u) << "a key twice";
  EXPECT_LT(refusal("{\"" + big + "\":1}", [](const JsonReader& r) { r.finish(); }).size(), 500u);
}

TEST(JsonReader, ValuesStandWhereTheTextHasThem) {
  const std::string text =
      R"({"b":[{"x":[]},[1,[2.5,null]],{}],"a":{"c":{"d":-1,"e":true}},"f":"","g":18446744073709551615})";
  EXPECT_EQ(parse_json(text, "room", "a.json", "values"), nlohmann::json::parse(text));
  EXPECT_EQ(parse_json(" 7 ", "room", "a.json", "values"), 7);
}

}  // namespace
}  // namespace octet

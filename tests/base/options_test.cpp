#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/base/options/arguments.h"
#include "src/base/options/document.h"
#include "src/base/options/text.h"
#include "src/base/options/yaml.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_parts.h"

namespace octet {
namespace {

using test::error_of;
using test::expect_parts;

enum class Color { red, green };
enum class Size : std::uint8_t { wide, narrow, tall };
constexpr auto names_of(Size) {
  return std::to_array<std::string_view>({"wide", "narrow", "tall"});
}

struct Part {
  std::string path;
  double weight = 1.0;
  bool operator==(const Part&) const = default;
};

/// One option of every type.
struct Sample {
  bool flag = false;
  std::int64_t count = 3;
  std::uint64_t seed = 1;
  double rate = 0.5;
  std::string name = "plain";
  Color color = Color::red;
  std::string kind = "wide";
  std::vector<std::string> words;
  std::vector<Part> parts;
  Size size = Size::narrow;
  AutoBool overlap = AutoBool::automatic;
  bool operator==(const Sample&) const = default;
};

void declare(Schema& schema, Sample& s) {
  schema.add("name", s.name).help("A name.");
  schema.section("box", "A box.");
  schema.add("flag", s.flag);
  schema.add("count", s.count).unit("steps").at_least(1).at_most(100);
  schema.add("seed", s.seed);
  schema.add("rate", s.rate).above(0).below(1).help("A | rate.");
  schema.add_choice<Color>("color", s.color, {{"red", Color::red}, {"green", Color::green}});
  schema.section("other", "The rest.");
  schema.add_choice("kind", s.kind, {"wide", "narrow"});
  schema.add_choice("size", s.size).was("extent", {{"big", "wide"}, {"small", "narrow"}, {"high", "tall"}});
  schema.add_choice("overlap", s.overlap);
  schema.add("words", s.words);
  schema.add_list<Part>("parts", s.parts, [](Schema& item, Part& part) {
    item.add("path", part.path).required();
    item.add("weight", part.weight).above(0);
  });
}

Sample read(const std::string& text) {
  Sample sample;
  Schema schema;
  declare(schema, sample);
  read_yaml_text(schema, text, "a.yaml");
  return sample;
}

Sample read_arguments(std::vector<const char*> words) {
  words.insert(words.begin(), "program");
  Sample sample;
  Schema schema;
  declare(schema, sample);
  apply(parse_arguments(schema, {"help"}, static_cast<int>(words.size()), words.data()), schema);
  return sample;
}

TEST(Text, IntegersAreStrict) {
  std::int64_t i = 0;
  EXPECT_TRUE(parse("-9223372036854775808", i));
  EXPECT_EQ(i, INT64_MIN);
  EXPECT_TRUE(parse("0", i));
  for (const char* bad :
       {"", "-", "+1", "1.5", "1e3", "1_000", "0x10", "010", " 1", "1 ", "9223372036854775808", "k"}) {
    EXPECT_FALSE(parse(bad, i)) << bad;
  }
  std::uint64_t u = 0;
  EXPECT_TRUE(parse("18446744073709551615", u));
  EXPECT_EQ(u, UINT64_MAX);
  EXPECT_FALSE(parse("-1", u));
}

TEST(Text, NumbersAreFinite) {
  double d = 0;
  EXPECT_TRUE(parse("1e-4", d));
  EXPECT_EQ(d, 1e-4);
  EXPECT_TRUE(parse("-3", d));
  for (const char* bad : {"", "nan", "inf", "-inf", ".inf", ".nan", "1e999", "1_000", "0x1p3", "1.5f", "1,5", "NaN"}) {
    EXPECT_FALSE(parse(bad, d)) << bad;
  }
}

TEST(Text, Nearest) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  const std::vector<std::string> names = {"train.steps", "optimizer.lr", "schedule.kind"};
  EXPECT_EQ(nearest("train.step", names), "train.steps");
  EXPECT_EQ(nearest("lr", names), "optimizer.lr");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest_hint("lr", names, "--"), "; nearest: --optimizer.lr");
  EXPECT_EQ(nearest_hint("train.setps", names), "; nearest: train.steps");
  EXPECT_EQ(nearest_hint("nonsense", names), "");
  EXPECT_EQ(nearest_hint("foo", {"root", "help"}, "--"), "");
  EXPECT_EQ(nearest_hint("fp8", {"bf16", "float8"}), "; nearest: float8");
  EXPECT_EQ(nearest_hint("x", {}), "");
}

TEST(Text, Alternatives) {
  EXPECT_EQ(alternatives({}), "");
  EXPECT_EQ(alternatives({"a"}), "a");
  EXPECT_EQ(alternatives({"a", "b"}), "a or b");
  EXPECT_EQ(alternatives({"a", "b", "c"}), "a, b or c");
}

TEST(Yaml, ReadsEveryType) {
  const Sample s = read(
      "name: 12\nbox: {flag: true, count: 7, seed: 18446744073709551615, rate: 1e-3, color: green}\n"
      "other:\n  kind: narrow\n  words: [a, 'b c']\n  parts: [x, {path: y, weight: 2}]\n");
  const Sample expected = {true, 7, UINT64_MAX, 1e-3, "12", Color::green, "narrow", {"a", "b c"}, {{"x", 1}, {"y", 2}}};
  EXPECT_EQ(s, expected);
}

TEST(Yaml, AbsentAndEmptySectionsKeepDefaults) {
  EXPECT_EQ(read("box:\nname: plain\n"), Sample());
}

TEST(Yaml, SingleElementsNeedNoList) {
  const Sample s = read("other:\n  words: one\n  parts: {path: p, weight: 3}\n");
  EXPECT_EQ(s.words, std::vector<std::string>{"one"});
  EXPECT_EQ(s.parts, (std::vector<Part>{{"p", 3}}));
  EXPECT_EQ(read("other: {parts: data/english}").parts, (std::vector<Part>{{"data/english", 1}}));
}

TEST(Yaml, WrongInputs) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> table = {
      {"", {"a.yaml", "empty", "expected"}},
      {"# only a comment\n", {"a.yaml", "empty"}},
      {"- a\n", {"a.yaml:1", "a list", "expected a map"}},
      {"box:\n  count: 1\nname: a\xff\n", {"a.yaml:3: the byte 0xff is not UTF-8"}},
      {"hello", {"a.yaml:1", "\"hello\"", "expected a map"}},
      {"box:\n  count: [1\n", {"a.yaml:", "no valid YAML"}},
      {"name: a\n\tbox: 1\n", {"a.yaml:2", "no valid YAML"}},
      {"name: a\n---\nname: b\n", {"a.yaml:3", "second YAML document"}},
      {"name: a\nbox:\n  flag: true\x1b[2J\n", {"a.yaml:3", "character 0x1b", "expected YAML"}},
      {"nane: a\n", {"a.yaml:1", "unknown key nane", "\"a\"", "nearest: name"}},
      {"bok:\n  count: 2\n", {"a.yaml:1", "unknown key bok", "a map", "nearest: box"}},
      {"\nbox:\n  cuont: 2\n", {"a.yaml:3", "unknown key box.cuont", "\"2\"", "nearest: box.count"}},
      {"count: 2\n", {"a.yaml:1", "unknown key count", "nearest: box.count"}},
      {"box.count: 2\n", {"a.yaml:1", "box.count", "\"count\" inside a section \"box\""}},
      {"<<: {name: a}\n", {"a.yaml:1", "unknown key <<"}},
      {"name: a\nname: b\n", {"a.yaml:2", "name is given twice", "line 1"}},
      {"box: {count: 2}\nbox: {count: 3}\n", {"a.yaml:2", "box is given twice"}},
      {"box:\n  count: 2\n  flag: true\n  count: 2\n", {"a.yaml:4", "box.count is given twice", "line 2"}},
      {"? [a]\n: 1\n", {"a.yaml:1", "a list", "expected a name"}},
      {"box: 3\n", {"a.yaml:1", "box = \"3\"", "expected a map"}},
      {"name:\n", {"a.yaml:1", "name = nothing", "expected text"}},
      {"name: [a]\n", {"a.yaml:1", "name = a list", "expected text"}},
      {"box:\n  count: 1.5\n", {"a.yaml:2", "box.count = \"1.5\"", "decimal integer"}},
      {"box:\n  count: \"15\"\n", {"a.yaml:2", "box.count = \"15\"", "decimal integer", ", without quotes"}},
      {"box:\n  count: 1e3\n", {"a.yaml:2", "box.count", "decimal integer"}},
      {"box:\n  count: 1_000\n", {"a.yaml:2", "box.count", "decimal integer"}},
      {"box:\n  count: '7'\n", {"a.yaml:2", "box.count", "decimal integer"}},
      {"box:\n  count: {a: 1}\n", {"a.yaml:2", "box.count = a map", "decimal integer"}},
      {"box:\n  count: 0\n", {"a.yaml:2", "box.count = 0", "integer >= 1, <= 100 (steps)"}},
      {"box:\n  count: 101\n", {"a.yaml:2", "box.count = 101", "<= 100"}},
      {"box:\n  count: 99999999999999999999\n", {"a.yaml:2", "box.count", "63 bits"}},
      {"box:\n  seed: -1\n", {"a.yaml:2", "box.seed = \"-1\"", "from 0"}},
      {"box:\n  rate: .nan\n", {"a.yaml:2", "box.rate = \".nan\"", "finite number"}},
      {"box:\n  rate: .inf\n", {"a.yaml:2", "box.rate", "finite number"}},
      {"box:\n  rate: 1e999\n", {"a.yaml:2", "box.rate", "finite number"}},
      {"box:\n  rate: 1_000\n", {"a.yaml:2", "box.rate", "finite number"}},
      {"box:\n  rate: 0\n", {"a.yaml:2", "box.rate = 0", "> 0, < 1"}},
      {"box:\n  flag: yes\n", {"a.yaml:2", "box.flag = \"yes\"", "true or false"}},
      {"box:\n  color: gren\n", {"a.yaml:2", "box.color = \"gren\"", "one of red, green", "nearest: green"}},
      {"other:\n  kind: [wide]\n", {"a.yaml:2", "other.kind = a list", "one of wide | narrow"}},
      {"other:\n  size: tal\n", {"a.yaml:2", "other.size = \"tal\"", "one of wide, narrow, tall; nearest: tall"}},
      {"other:\n  overlap: yes\n", {"a.yaml:2", "other.overlap = \"yes\"", "one of auto, true, false"}},
      {"other:\n  words: [a, [b]]\n", {"a.yaml:2", "other.words[1] = a list", "expected a text"}},
      {"other:\n  words: {a: 1}\n", {"a.yaml:2", "other.words = a map", "list of texts"}},
      {"other:\n  parts:\n", {"a.yaml:2", "other.parts = nothing"}},
      {"other:\n  parts:\n  - {path: a}\n  - {pth: a}\n", {"a.yaml:4", "other.parts[1].pth", "nearest: path"}},
      {"other:\n  parts:\n  - {weight: 1}\n", {"a.yaml:3", "other.parts[0]", "path is missing"}},
      {"other:\n  parts:\n  - path: a\n    weight: -1\n", {"a.yaml:4", "other.parts[0].weight = -1", "> 0"}},
      {"other:\n  parts: [[a]]\n", {"a.yaml:2", "other.parts[0] = a list"}},
  };
  for (const auto& [text, parts] : table) {
    SCOPED_TRACE(text);
    expect_parts(error_of([&, t = text] { read(t); }), parts);
  }
}

TEST(Yaml, AnAliasMayNotStandForEndlesslyMany) {
  EXPECT_EQ(flat_yaml("a: &x [1, 2]\nb: {c: *x}\n", "f").at("b.c"), "[1, 2]");
  std::string text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 9; ++i) text += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  for (const std::string& endless : {std::string("a: &x [*x]\n"), std::string("a: &x {b: *x}\n"), text}) {
    EXPECT_NE(error_of([&] { flat_yaml(endless, "f"); }).find("expected a map of options"), std::string::npos);
  }
}

TEST(Yaml, UnreadableFiles) {
  Sample sample;
  Schema schema;
  declare(schema, sample);
  expect_parts(error_of([&] { read_yaml_file(schema, "/nowhere/a.yaml"); }), {"/nowhere/a.yaml", "cannot be read"});
  expect_parts(error_of([&] { read_yaml_file(schema, "/"); }), {"/: is a folder"});
}

TEST(Yaml, DeepNestingIsAnError) {
  expect_parts(error_of([] { read("name: " + std::string(100000, '[')); }), {"a.yaml", "no valid YAML"});
}

TEST(Arguments, OverrideTheFile) {
  const std::string file = testing::TempDir() + "octet-options-test.yaml";
  std::ofstream(file) << "box: {count: 5, rate: 0.25}\n";
  const Sample s = read_arguments({"--box.count", "6", file.c_str(), "--name=a=b", "--box.flag", "true"});
  std::filesystem::remove(file);
  EXPECT_EQ(s.count, 6);
  EXPECT_EQ(s.rate, 0.25);
  EXPECT_EQ(s.name, "a=b");
  EXPECT_TRUE(s.flag);
}

TEST(Arguments, ListsAndEmptyTexts) {
  const Sample s = read_arguments({"--other.words", "[a, b]", "--other.parts=[{path: p, weight: 2}, q]", "--name", ""});
  EXPECT_EQ(s.words, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(s.parts, (std::vector<Part>{{"p", 2}, {"q", 1}}));
  EXPECT_EQ(s.name, "");
  EXPECT_EQ(read_arguments({"--name", "[a]"}).name, "[a]");
  EXPECT_EQ(read_arguments({"--name", "\u00e9\u20ac\U0001F600"}).name, "\u00e9\u20ac\U0001F600");
  EXPECT_EQ(read_arguments({"--other.words", "a, b"}).words, (std::vector<std::string>{"a, b"}));
}

TEST(Arguments, HelpHasItsLetterWhereItIsAFlag) {
  Sample sample;
  Schema schema;
  declare(schema, sample);
  const std::vector<const char*> words{"program", "a.yaml", "-h"};
  const Arguments help = parse_arguments(schema, {"help"}, 3, words.data());
  EXPECT_TRUE(help.has("help"));
  EXPECT_EQ(help.file, "a.yaml");
  EXPECT_THROW(parse_arguments(schema, {}, 3, words.data()), Error);
  EXPECT_EQ(read_arguments({"--name", "-h"}).name, "-h") << "a value is one";
}

TEST(Arguments, WrongInputs) {
  const std::vector<std::pair<std::vector<const char*>, std::vector<std::string>>> table = {
      {{"--box.cuont", "3"}, {"unknown option --box.cuont", "nearest: --box.count"}},
      {{"--box.coun=3"}, {"unknown option --box.coun=3", "nearest: --box.count"}},
      {{"--hepl"}, {"unknown option --hepl", "nearest: --help"}},
      {{"-x"}, {"unknown option -x"}},
      {{"--box.count", "3", "--box.count=4"}, {"--box.count is given twice"}},
      {{"--help", "--help"}, {"--help is given twice"}},
      {{"--box.count"}, {"--box.count", "missing"}},
      {{"--box.count", "--box.flag", "true"}, {"--box.count", "missing"}},
      {{"--help=1"}, {"--help"}},
      {{"a.yaml", "b.yaml"}, {"two configuration files", "a.yaml", "b.yaml"}},
      {{"--box.count", "-1"}, {"command line", "--box.count = -1", ">= 1"}},
      {{"--name", "runs/bad\xff"}, {"--name:1: the byte 0xff is not UTF-8"}},
      {{"--name", "cut \xe2\x82"}, {"--name:1: the byte 0xe2 is not UTF-8"}},
      {{"--name", "long \xc0\xaf"}, {"--name:1: the byte 0xc0 is not UTF-8"}},
      {{"--name", "half \xed\xa0\x80"}, {"--name:1: the byte 0xed is not UTF-8"}},
      {{"--box.count", "x"}, {"command line", "--box.count = \"x\"", "decimal integer"}},
      {{"--box.rate", "nan"}, {"--box.rate = \"nan\"", "finite number"}},
      {{"--other.words", "[a"}, {"--other.words", "list of texts"}},
      {{"--other.parts", "[{pth: a}]"}, {"--other.parts[0].pth", "nearest: path"}},
  };
  for (const auto& [words, parts] : table) {
    SCOPED_TRACE(words.front());
    expect_parts(error_of([&, w = words] { read_arguments(w); }), parts);
  }
}

TEST(FormerNames, AreReadAndTold) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(read("other:\n  kind: wide\n  extent: high\n").size, Size::tall);
  EXPECT_EQ(read_arguments({"--other.extent", "big"}).size, Size::wide);
  const std::string told = testing::internal::GetCapturedStderr();
  for (const char* line : {"a.yaml:3: other.extent = high is the old name of other.size = tall",
                           "command line: other.extent = big is the old name of other.size = wide"}) {
    EXPECT_NE(told.find(line), std::string::npos) << told;
  }
  Sample sample;
  Schema schema;
  declare(schema, sample);
  std::vector<std::string> unknown;
  testing::internal::CaptureStderr();
  read_yaml_known(schema, "other: {extent: high, depth: 3}", "stored", unknown);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(sample.size, Size::tall);
  EXPECT_EQ(unknown, (std::vector<std::string>{"other.depth"}));
  EXPECT_EQ(schema.origins().at("other.size"), "stored:1");
  EXPECT_EQ(to_yaml(schema).find("extent"), std::string::npos);
}

TEST(FormerNames, WrongInputs) {
  expect_parts(error_of([&] { read("other: {extent: tall}"); }),
               {"a.yaml:1: other.extent", "\"tall\"", "big | small | high", "new name is other.size"});
  expect_parts(error_of([&] { read("other:\n  size: tall\n  extent: high\n"); }),
               {"a.yaml:3: other.extent is the old name of other.size", "line 2", "expected once"});
  expect_parts(error_of([&] { read("other:\n  extent: high\n  size: tall\n"); }),
               {"a.yaml:3: other.size is given twice", "line 2"});
  expect_parts(error_of([&] {
                 read_arguments({"--other.size", "tall", "--other.extent", "high"});
               }),
               {"--other.size and --other.extent are one option", "expected --other.size alone"});
  expect_parts(error_of([&] {
                 read_arguments({"--other.extent", "wide"});
               }),
               {"command line", "--other.extent = \"wide\"", "big | small | high"});
}

TEST(Schema, OriginsRequiredAndChecks) {
  Sample sample;
  Schema schema;
  declare(schema, sample);
  schema.find("box.rate")->required();
  expect_parts(error_of([&] { schema.check_required("a.yaml", true); }), {"a.yaml: box.rate is missing", "--box.rate"});
  read_yaml_text(schema, "box:\n  count: 2\n  rate: 0.5\n", "a.yaml");
  read_argument(*schema.find("box.count"), "3");
  EXPECT_EQ(schema.origins(), (Origins{{"box.count", "command line"}, {"box.rate", "a.yaml:3"}}));
  schema.check_required("a.yaml", true);
  schema.check({});
  sample.rate = std::numeric_limits<double>::quiet_NaN();
  expect_parts(error_of([&] { schema.check(schema.origins()); }), {"a.yaml:3: box.rate = nan"});
  sample.rate = 0.5;
  sample.kind = "round";
  expect_parts(error_of([&] { schema.check({}); }), {"other.kind = \"round\"", "wide, narrow"});
  sample.kind = "wide";
  sample.parts = {{"a", 0}};
  expect_parts(error_of([&] { schema.check({}); }), {"other.parts[0].weight = 0"});
}

TEST(Schema, NamesOfAnEnumAreItsChoices) {
  EXPECT_EQ(read("other: {size: tall, overlap: true}").size, Size::tall);
  EXPECT_EQ(read("other: {size: tall, overlap: true}").overlap, AutoBool::yes);
  EXPECT_EQ(read("other: {overlap: false}").overlap, AutoBool::no);
  EXPECT_EQ(fmt::format("{} {:>6}", Size::wide, AutoBool::yes), "wide   true");
  EXPECT_EQ(value_named<Size>("narrow"), Size::narrow);
  EXPECT_EQ(value_named<Size>("Narrow"), std::nullopt);
  EXPECT_TRUE(decided(AutoBool::automatic, true) && decided(AutoBool::yes, false));
  EXPECT_FALSE(decided(AutoBool::automatic, false) || decided(AutoBool::no, true));
  Sample sample;
  Schema schema;
  declare(schema, sample);
  EXPECT_EQ(schema.find("other.size")->type(), "wide | narrow | tall");
  EXPECT_EQ(schema.find("other.size")->default_text(), "narrow");
  sample.size = static_cast<Size>(3);
  expect_parts(error_of([&] { schema.check({}); }), {"other.size", "one of wide, narrow, tall"});
}

TEST(Schema, NamesAreUnique) {
  Sample sample;
  Schema schema;
  schema.add("name", sample.name);
  EXPECT_THROW(schema.add("name", sample.name), Error);
}

TEST(Document, YamlReadsBack) {
  Sample s;
  s.rate = 0.1 + 0.2;
  s.seed = UINT64_MAX;
  s.parts = {{"a b", 1.0 / 3}, {"x", 1}};
  const std::vector<std::string> nasty = {"",     "null", "~",       "true", "1",     "- a",  "a: b",  "a #b", " a ",
                                          "\"",   "\\n",  "a\nb\tc", "é ß",  "[a, b", "{a}",  "'",     "&a",   "*a",
                                          "!tag", "%a",   "@a",      "a,b",  "yes",   "\x01", "/a/b.c"};
  for (const std::string& text : nasty) {
    SCOPED_TRACE(text);
    s.name = text;
    s.words = nasty;
    s.parts[0].path = text;
    Sample copy = s;
    Schema schema;
    declare(schema, copy);
    EXPECT_EQ(read(to_yaml(schema)), s) << to_yaml(schema);
  }
}

TEST(Document, HelpAndMarkdownShowEveryFact) {
  Sample sample;
  Schema schema;
  declare(schema, sample);
  const std::string help = help_text(schema);
  for (const char* part :
       {"\nbox: A box.\n", "  --box.count integer\n", "[steps; default 3; >= 1, <= 100]", "--name text", "red | green",
        "--other.parts path, list of path, or list of {path, weight}"}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << "\n" << help;
  }
  const std::string page = markdown(schema);
  EXPECT_NE(page.find("| `box.count` | integer | steps | `3` | >= 1, <= 100 |  |\n"), std::string::npos) << page;
  EXPECT_NE(page.find("| `box.rate` | number |  | `0.5` | > 0, < 1 | A \\| rate. |\n"), std::string::npos) << page;
}

}  // namespace
}  // namespace octet

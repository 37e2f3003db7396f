#include <gtest/gtest.h>

#include "src/base/options/arguments.h"
#include "src/base/options/document.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_parts.h"

namespace octet {
namespace {

using test::error_of;
using test::expect_parts;

/// What only a command line has.
struct Words {
  std::vector<std::string> inputs, names;
  std::string output = "out";
  std::int32_t workers = 0;
  bool json = false;
};

void declare(Schema& schema, Words& w) {
  schema.add("input", w.inputs).required().several().letter('i').help("Files.");
  schema.add("name", w.names).several().help("Names.");
  schema.add("output", w.output).letter('o').help("The result.");
  schema.add("workers", w.workers).between(1, 8).help("Threads; default: all.");
  schema.add_flag("json", w.json).letter('j').help("As JSON.");
}

Words read_words(std::vector<const char*> words, int most = -1) {
  words.insert(words.begin(), "program");
  Words read;
  Schema schema;
  declare(schema, read);
  const Positional positional{.hint = "; usage", .option = "input", .most = most};
  apply_words(parse_arguments(schema, {"help"}, static_cast<int>(words.size()), words.data(), positional), schema);
  return read;
}

using Texts = std::vector<std::string>;

TEST(ArgumentWords, ThatBelongToNoOptionAreValuesOfOne) {
  EXPECT_EQ(read_words({"a", "--input", "b", "c", "--json", "d"}).inputs, (Texts{"a", "b", "c", "d"}));
  EXPECT_EQ(read_words({"--name", "x", "y", "--name=z", "--json", "a"}).names, (Texts{"x", "y", "z"}));
  EXPECT_EQ(read_words({"[a]", "-", "--", "-b", "-o"}).inputs, (Texts{"[a]", "-", "-b", "-o"}));
  EXPECT_EQ(read_words({"caf\xe9", "--output", ""}).inputs, (Texts{"caf\xe9"})) << "a name of a file may be no UTF-8";
  EXPECT_EQ(read_words({"a", "--output", ""}).output, "");
}

TEST(ArgumentWords, MayNotBeThere) {
  Words read;
  Schema schema;
  declare(schema, read);
  const std::vector<const char*> words = {"program", "--json", "a"};
  const std::string refusal =
      error_of([&] { parse_arguments(schema, {}, 3, words.data(), {.hint = "; usage", .option = "", .most = 0}); });
  EXPECT_EQ(refusal, "[config] command line: \"a\" is one word too many; usage");
}

TEST(ArgumentWords, LettersAndFlags) {
  const Words read = read_words({"-ia", "-o", "file", "-j"});
  EXPECT_EQ(read.inputs, (Texts{"a"}));
  EXPECT_EQ(read.output, "file");
  EXPECT_TRUE(read.json);
  EXPECT_FALSE(read_words({"a"}).json);
  EXPECT_EQ(read_words({"-o=file"}).output, "file");
}

TEST(ArgumentWords, WrongOnes) {
  const std::vector<std::pair<std::vector<const char*>, std::vector<std::string>>> table = {
      {{"a", "b"}, {"\"b\" is one word too many; usage"}},
      {{"-x"}, {"unknown option -x"}},
      {{"--name", "a", "-x"}, {"unknown option -x"}},
      {{"--json=1"}, {"'--json' does not take any arguments (--help lists all)"}},
      {{"a", "--output"}, {"'--output' is missing (--help lists all)"}},
      {{"a", "--output="}, {"'--output' should follow immediately after the equal sign (--help lists all)"}},
      {{"-j", "--json"}, {"--json is given twice"}},
      {{"-o", "a", "--output=b"}, {"--output is given twice"}},
      {{"--input", "--json"}, {"the value of --input is missing, found --json"}},
      {{"--workers", "0"}, {"--workers = 0: expected integer >= 1, <= 8"}},
      {{"--workers", "2147483648"}, {"--workers = \"2147483648\"", "at most 31 bits"}},
  };
  for (const auto& [words, parts] : table) {
    SCOPED_TRACE(words.front());
    expect_parts(error_of([&, w = words] { read_words(w, 1); }), parts);
  }
}

TEST(ArgumentWords, HelpHasLettersAndNoDefaultThatNobodyCouldGive) {
  Words words;
  Schema schema;
  declare(schema, words);
  EXPECT_EQ(help_text(schema),
            "  -i, --input text ...\n      Files. [required]\n"
            "  --name text ...\n      Names.\n"
            "  -o, --output text\n      The result. [default out]\n"
            "  --workers integer\n      Threads; default: all. [>= 1, <= 8]\n"
            "  -j, --json\n      As JSON.\n");
}

}  // namespace
}  // namespace octet

// octet tokenizer, as a user calls it.
#include <nlohmann/json.hpp>

#include "tests/data/support.h"
#include "tests/support/run_command.h"

namespace octet {
namespace {

using test::run_command;
using test::TempFolder;
using test::write_bytes;

class TokenizerCommand : public testing::Test {
 protected:
  TokenizerCommand() {
    std::string text, lines;
    for (int i = 0; i < 400; ++i) {
      const std::string one = "The number " + std::to_string(i) + " is " + (i % 3 == 0 ? "green" : "yellow") + ".";
      text += one + "\n";
      lines += "{\"text\": \"" + one + "\\n\"}\n";
    }
    write_bytes(folder_ / "text.txt", text);
    write_bytes(folder_ / "lines.jsonl", lines);
  }
  static test::CommandResult octet(const std::string& words) {
    return run_command(OCTET_BIN_DIR "/octet tokenizer " + words);
  }
  std::string train(const std::string& input, const std::string& name, const std::string& options = "") {
    const auto run =
        octet("train --input " + (folder_ / input) + " --vocab-size 300 --output " + (folder_ / name) + " " + options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return test::read_bytes(folder_ / name);
  }

  TempFolder folder_;
};

TEST_F(TokenizerCommand, TrainsAVocabularyThatEncodesAndDecodes) {
  const auto file = nlohmann::json::parse(train("text.txt", "t.json"));
  EXPECT_EQ(file["model"]["vocab"].size(), 300u);
  EXPECT_EQ(file["model"]["vocab"]["<|end_of_text|>"], 1);
  EXPECT_TRUE(file["model"]["vocab"].contains("\u0120yellow"));
  const std::string path = folder_ / "t.json";
  const auto info = octet("info " + path);
  EXPECT_HAS(info.out, "vocabulary   300 ids");
  EXPECT_HAS(info.out, "eos          1  <|end_of_text|>");
  const auto ids = octet("encode " + path + " --text 'is yellow <|end_of_text|>'");
  EXPECT_EQ(ids.exit_code, 0) << ids.err;
  EXPECT_EQ(octet("decode " + path + " " + ids.out.substr(0, ids.out.size() - 1)).out, "is yellow <|end_of_text|>");
  EXPECT_HAS(octet("encode " + path + " --text 'is yellow' --pieces").out, "   yellow\n");
  EXPECT_EQ(octet("encode " + path + " --text '<|end_of_text|>' --control-tokens").out, "1\n");
  write_bytes(folder_ / "latin.txt", "caf\xE9\n");
  EXPECT_HAS(octet("encode " + path + " " + (folder_ / "latin.txt")).err, "byte 233 at offset 3 is no UTF-8");
  write_bytes(folder_ / "packed.gz", "\x1F\x8B\x08");
  EXPECT_HAS(octet("encode " + path + " " + (folder_ / "packed.gz")).err, "packed.gz is packed with gzip; unpack it");
}

TEST_F(TokenizerCommand, ShowsSpecialTokensOnOneLineAndWithoutControlCharacters) {
  std::string file = train("text.txt", "t.json");
  const std::string name = "<|end_of_text|>";
  for (std::size_t at = file.find(name); at != std::string::npos; at = file.find(name)) {
    file.replace(at, name.size(), "<|\\u001b[2J\\nbos|>");
  }
  write_bytes(folder_ / "odd.json", file);
  const auto info = octet("info " + (folder_ / "odd.json"));
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_HAS(info.out, "  <|\\x1b[2J\\nbos|>\n");
}

TEST_F(TokenizerCommand, OfTextThatIsNoUtf8NamesItsOwnOption) {
  write_bytes(folder_ / "latin.txt", "caf\xE9\n");
  const auto refused =
      octet("train --input " + (folder_ / "latin.txt") + " --vocab-size 300 --output " + (folder_ / "latin.json"));
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_HAS(refused.err, "latin.txt: byte 233 at offset 3 is no UTF-8; --replace-bad-utf8 takes it");
}

TEST_F(TokenizerCommand, HasTheOptionsThatItsMessagesName) {
  write_bytes(folder_ / "lines.txt", test::read_bytes(folder_ / "lines.jsonl"));
  const std::string input =
      "train --input " + (folder_ / "lines.txt") + " --vocab-size 300 --output " + (folder_ / "x.json");
  const auto refused = octet(input);
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_HAS(refused.err, "lines.txt: ");
  EXPECT_HAS(refused.err, "say what it is by --format");
  EXPECT_EQ(train("lines.txt", "1.json", "--format jsonl"), train("lines.jsonl", "2.json"));
  EXPECT_HAS(octet(input + " --format json").err, "--format is \"json\"; expected auto, text, jsonl or parquet");

  const auto longer = octet(input + " --format jsonl --max-document 16");
  EXPECT_EQ(longer.exit_code, 64);
  EXPECT_HAS(longer.err, "lines.txt:1: is longer than --max-document 16 B");
  EXPECT_EQ(train("lines.txt", "3.json", "--format jsonl --max-document 1K"), train("lines.jsonl", "4.json"));
}

TEST_F(TokenizerCommand, MakesTheSameOfEveryFormatAndNumberOfWorkers) {
  // A text of lines has the words of its lines, as the pattern cuts them.
  const std::string one = train("text.txt", "1.json", "--workers 1");
  EXPECT_EQ(train("lines.jsonl", "2.json", "--workers 3"), one);
}

TEST_F(TokenizerCommand, ThreadsThatTheMachineDoesNotGiveAreOneError) {
  const std::string limit = "ulimit -v 3000000; " OCTET_BIN_DIR "/octet ";
  if (run_command(limit + "--help").exit_code != 0)
    GTEST_SKIP() << "it needs more memory than that, as with sanitizers";
  const auto limited = run_command(limit + "tokenizer train --input " + (folder_ / "text.txt") +
                                   " --vocab-size 300 --workers 4096 --output " + (folder_ / "x.json"));
  EXPECT_EQ(limited.exit_code, 70) << limited.all();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.json"));
}

TEST_F(TokenizerCommand, SaysWhatIsWrong) {
  const std::string input = "train --input " + (folder_ / "text.txt") + " --output ";
  const auto few = octet(input + (folder_ / "x.json") + " --vocab-size 257");
  EXPECT_EQ(few.exit_code, 64);
  EXPECT_HAS(few.err, "a vocabulary of 257 tokens; expected at least 258");
  EXPECT_HAS(octet(input + (folder_ / "text.txt") + " --vocab-size 300").err, "exists; --overwrite replaces it");
  EXPECT_HAS(octet(input + (folder_ / "no/x.json") + " --vocab-size 300").err, "no/x.json: cannot be written");
  EXPECT_HAS(octet(input + (folder_ / "x.json") + " --vocab-size 300 --special '<a>' --special '<a>'").err,
             "special token <a> is given twice");
  const auto bytes = octet(input + (folder_ / "x.json") + " --vocab-size 300 --special '\xff'");
  EXPECT_EQ(bytes.exit_code, 64);
  EXPECT_HAS(bytes.err, "special token \\xff is no UTF-8");
  write_bytes(folder_ / "bad.jsonl", "{\"text\": \"a\"}\n{\"text\": 1}\n");
  EXPECT_HAS(
      octet("train --input " + (folder_ / "bad.jsonl") + " --vocab-size 300 --output " + (folder_ / "x.json")).err,
      "bad.jsonl:2: ");
  write_bytes(folder_ / "latin.txt", "caf\xE9\n");
  EXPECT_HAS(
      octet("train --input " + (folder_ / "latin.txt") + " --vocab-size 300 --output " + (folder_ / "x.json")).err,
      "latin.txt: byte 233 at offset 3 is no UTF-8");
  EXPECT_HAS(octet("encode " + (folder_ / "none.json") + " --text a").err, "unknown tokenizer");
  EXPECT_HAS(octet("decode bytes 72 x").err, "\"x\" is no token id");
  EXPECT_HAS(octet("decode bytes 256").err, "token id 256 is no byte");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.json"));
}

}  // namespace
}  // namespace octet

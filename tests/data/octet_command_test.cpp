// The program `octet`: what a person types, sees and gets as exit code.
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "src/data/token_file.h"
#include "tests/data/support.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using test::write_bytes;

struct Result {
  int code = -1;
  std::string text;  ///< standard output and error
};

Result run(const std::string& command) {
  Result result;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen");
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    result.text.append(buffer.data(), got);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

const std::string octet = std::string(OCTET_BIN_DIR) + "/octet ";

class OctetCommand : public testing::Test {
 protected:
  OctetCommand() {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "line " + std::to_string(i) + " of the text\n";
    write_bytes(folder_ / "text/a.txt", text);
    write_bytes(folder_ / "text/b.txt", "To be, or not to be\n");
  }
  std::string prepare(const std::string& more = "") {
    return octet + "prepare --input " + (folder_ / "text") + " --output " + (folder_ / "out/x") + " " + more;
  }
  TempFolder folder_;
};

TEST_F(OctetCommand, HelpAndVersion) {
  const Result help = run(octet + "--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_HAS(help.text, "prepare");
  EXPECT_HAS(help.text, "inspect");
  EXPECT_EQ(run(octet + "--version").text.substr(0, 6), "octet ");
  const Result prepare_help = run(octet + "prepare --help");
  EXPECT_EQ(prepare_help.code, 0);
  for (const char* option : {"--input", "--output", "--tokenizer", "--split-documents", "--overwrite"}) {
    EXPECT_HAS(prepare_help.text, option);
  }
  EXPECT_EQ(run(octet + "inspect --help").code, 0);
}

TEST_F(OctetCommand, PrepareAndInspect) {
  const Result prepared = run(prepare());
  EXPECT_EQ(prepared.code, 0) << prepared.text;
  EXPECT_HAS(prepared.text, "documents  2");
  EXPECT_HAS(prepared.text, "entropy    order 0 ");
  EXPECT_HAS(prepared.text, folder_ / "out/x.idx");
  const TokenFile file(folder_ / "out/x");

  const Result seen = run(octet + "inspect " + (folder_ / "out/x") + " --seq_len 64 --validation_fraction 0.1");
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_HAS(seen.text, "documents    2 in 2 sequences");
  EXPECT_HAS(seen.text, fmt::format("tokens       {} of uint8", file.tokens()));
  EXPECT_HAS(seen.text, "begins       line 0 of the text\\nline 1");
  EXPECT_HAS(seen.text, fmt::format("{:016x}", file.fingerprint()));
  EXPECT_HAS(seen.text, "for validation, of 64 tokens");
  EXPECT_HAS(seen.text, "  validation order 0 ");
  const auto entropy = prepared.text.find("order 0 ");
  EXPECT_HAS(seen.text, prepared.text.substr(entropy, 50));  // the same numbers from both
}

TEST_F(OctetCommand, ExistingOutputIsReplacedOnlyWhenAsked) {
  ASSERT_EQ(run(prepare()).code, 0);
  const Result refused = run(prepare());
  EXPECT_EQ(refused.code, 64);
  EXPECT_HAS(refused.text, "x.bin exists; --overwrite replaces it");
  EXPECT_EQ(run(prepare("--overwrite --split-documents blank-lines")).code, 0);
}

TEST_F(OctetCommand, WrongUseIsOneMessageAndExitCode64) {
  write_bytes(folder_ / "bad.idx", "MMIDIDX");
  write_bytes(folder_ / "bad.bin", "");
  write_bytes(folder_ / "binary", std::string("a\0b", 3));
  const std::string out = " --output " + (folder_ / "out/y");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "which command?"},
      {"prepar", "unknown command \"prepar\"; did you mean \"prepare\"?"},
      {"inspekt", "did you mean \"inspect\"?"},
      {"prepare", "--input"},
      {"prepare --input x", "--output"},
      {"prepare --inputs x" + out, "--inputs"},
      {"prepare --inp x" + out, "--inp"},
      {"prepare --input " + (folder_ / "missing") + out, "cannot read input"},
      {"prepare --input " + (folder_ / "text") + out + " --tokenizer bpe", "unknown tokenizer \"bpe\"; known: bytes"},
      {"prepare --input " + (folder_ / "text") + out + " --split-documents line", "expected none or blank-lines"},
      {"prepare --input " + (folder_ / "binary") + out, "byte 0 at offset 1"},
      {"prepare --input " + (folder_ / "text") + " --output /proc/octet/x", "cannot create the folder"},
      {"prepare --input " + (folder_ / "text") + " --output " + (folder_ / "bad.idx") + "/x", "cannot create"},
      {"inspect", "--path"},
      {"inspect " + (folder_ / "missing"), "cannot open"},
      {"inspect " + (folder_ / "bad"), "7 bytes is too short"},
      {"inspect " + (folder_ / "bad") + " --seq_len abc", "abc"},
      {"inspect " + (folder_ / "bad") + " --seq_len 0", "--seq_len is 0"},
      {"inspect " + (folder_ / "bad") + " --validation_fraction 0.1", "needs --seq_len"},
  };
  for (const auto& [arguments, expected] : cases) {
    SCOPED_TRACE(arguments);
    const Result result = run(octet + arguments);
    EXPECT_EQ(result.code, 64);
    EXPECT_HAS(result.text, expected);
    EXPECT_EQ(std::ranges::count(result.text, '\n'), 1) << result.text;
  }
  EXPECT_FALSE(fs::exists(folder_ / "out/y.bin"));
}

TEST_F(OctetCommand, AFullDiskLeavesNothing) {
  // A limit on the size of files stands in for the full disk: 512 or 1,024 bytes, and the text has more.
  const Result result = run("trap '' XFSZ; ulimit -f 1; " + prepare());
  EXPECT_EQ(result.code, 70);
  EXPECT_HAS(result.text, "cannot write to " + (folder_ / "out/x.bin.tmp"));
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
}

TEST_F(OctetCommand, AKilledRunLeavesNothingThatLooksWholeAndCanBeRepeated) {
  const Result killed = run("ulimit -c 0; ulimit -f 1; " + prepare());  // SIGXFSZ ends it in the middle of a write
  EXPECT_GT(killed.code, 128) << killed.text;
  EXPECT_FALSE(fs::exists(folder_ / "out/x.bin"));
  EXPECT_FALSE(fs::exists(folder_ / "out/x.idx"));
  EXPECT_EQ(run(prepare()).code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "out"), {}), 2);
}

}  // namespace
}  // namespace octet

// The program `octet`: what a person types, sees and gets as exit code.
#include <algorithm>
#include <sstream>

#include "src/data/token_file.h"
#include "tests/data/support.h"
#include "tests/support/run_command.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::run_command;
using test::TempFolder;
using test::write_bytes;

const std::string octet_tool = std::string(OCTET_BIN_DIR) + "/octet ";

std::int64_t lines_with(std::string_view part, const std::string& text) {
  std::istringstream in(text);
  std::int64_t lines = 0;
  for (std::string line; std::getline(in, line);) lines += line.find(part) != std::string::npos ? 1 : 0;
  return lines;
}

class OctetCommand : public testing::Test {
 protected:
  OctetCommand() {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "line " + std::to_string(i) + " of the text\n";
    write_bytes(folder_ / "text/a.txt", text);
    write_bytes(folder_ / "text/b.txt", "To be, or not to be\n");
  }
  std::string prepare(const std::string& more = "") {
    return octet_tool + "prepare --input " + (folder_ / "text") + " --output " + (folder_ / "out/x") + " " + more;
  }
  TempFolder folder_;
};

TEST_F(OctetCommand, HelpAndVersion) {
  const CommandResult help = run_command(octet_tool + "--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_HAS(help.all(), "prepare");
  EXPECT_HAS(help.all(), "inspect");
  for (const char* word : {"commit     ", "built      ", "devices    cpu", "libraries  MPICH ", "HDF5 1."}) {
    EXPECT_HAS(run_command(octet_tool + "--version").out, word);
  }
  const CommandResult prepare_help = run_command(octet_tool + "prepare --help");
  EXPECT_EQ(prepare_help.exit_code, 0);
  for (const char* option : {"--input", "--output", "--tokenizer", "--split-documents", "--overwrite"}) {
    EXPECT_HAS(prepare_help.all(), option);
  }
  EXPECT_EQ(run_command(octet_tool + "inspect --help").exit_code, 0);
}

TEST_F(OctetCommand, HelpXIsTheHelpOfX) {
  for (const std::string name : {"prepare", "inspect", "tune fit", "checkpoint verify", "submit", "doctor", "tune"}) {
    SCOPED_TRACE(name);
    const CommandResult help = run_command(fmt::format("{}help {}", octet_tool, name));
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_HAS(help.out, name);
    EXPECT_EQ(help.out, run_command(octet_tool + name + " --help").out);
  }
  EXPECT_EQ(run_command(octet_tool + "tune help fit").out, run_command(octet_tool + "tune fit --help").out);
  const CommandResult unknown = run_command(octet_tool + "help prepair");
  EXPECT_EQ(unknown.exit_code, 64);
  EXPECT_HAS(unknown.err, "nearest: prepare");
  EXPECT_EQ(run_command(octet_tool + "help tune fitt").exit_code, 64);
}

TEST_F(OctetCommand, ResultsThatAFullDiskTookArePrintedNowhere) {
  const CommandResult full = run_command(octet_tool + "--help >/dev/full");
  EXPECT_EQ(full.exit_code, 70);
  EXPECT_HAS(full.err, "standard output did not take all that was printed: No space left on device");
  EXPECT_EQ(run_command(octet_tool + "help tune fit >/dev/full").exit_code, 70);
}

TEST_F(OctetCommand, PackedTextIsNamed) {
  const std::vector<std::pair<std::string, std::string>> packers = {{"bzip2", "bz2"}, {"xz", "xz"}};
  for (const auto& [packer, suffix] : packers) {
    SCOPED_TRACE(packer);
    const std::string packed = folder_ / ("a." + suffix);
    const CommandResult made = run_command(fmt::format("{} -c {} >{}", packer, folder_ / "text/a.txt", packed));
    if (made.exit_code == 127) continue;  // this machine has not got it
    const CommandResult result =
        run_command(fmt::format("{}prepare --input {} --output {}", octet_tool, packed, folder_ / "out/y"));
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_HAS(result.all(), fmt::format("{}: is packed by {}", packed, packer));
  }
}

TEST_F(OctetCommand, PrepareAndInspect) {
  const CommandResult prepared = run_command(prepare());
  EXPECT_EQ(prepared.exit_code, 0) << prepared.all();
  EXPECT_HAS(prepared.all(), "documents  2");
  EXPECT_HAS(prepared.all(), "entropy    order 0 ");
  EXPECT_HAS(prepared.all(), folder_ / "out/x.idx");
  const TokenFile file(folder_ / "out/x");

  const CommandResult seen =
      run_command(octet_tool + "inspect " + (folder_ / "out/x") + " --seq_len 64 --validation_fraction 0.1");
  EXPECT_EQ(seen.exit_code, 0) << seen.all();
  EXPECT_HAS(seen.all(), "documents    2 in 2 sequences");
  EXPECT_HAS(seen.all(), fmt::format("tokens       {} of uint8", file.tokens()));
  EXPECT_HAS(seen.all(), "begins       line 0 of the text\\nline 1");
  EXPECT_HAS(seen.all(), fmt::format("{:016x}", file.fingerprint()));
  EXPECT_HAS(seen.all(), "for validation, of 64 tokens");
  EXPECT_HAS(seen.all(), "  validation order 0 ");
  const auto entropy = prepared.all().find("order 0 ");
  EXPECT_HAS(seen.all(), prepared.all().substr(entropy, 50));  // the same numbers from both
}

TEST_F(OctetCommand, InspectTellsHowMuchAttentionCrossesDocuments) {
  const auto across = [&](std::int64_t length) {
    TokenFileWriter writer(folder_ / "documents", TokenType::u8, {.overwrite = true});
    for (std::int64_t document = 0; document < 120 / length; ++document) {
      writer.append(std::vector<std::int32_t>(static_cast<std::size_t>(length), 7));
      writer.end_document();
    }
    writer.finish();
    return run_command(octet_tool + "inspect " + (folder_ / "documents") + " --seq_len 4").all();
  };
  // Of the 10 pairs of a window 6 are within two documents of 2 tokens, 4 within four of one.
  EXPECT_HAS(across(2), "across       40.0 % of attention over 4 tokens goes to other documents (data.document_mask)");
  EXPECT_HAS(across(1), "across       60.0 % of attention over 4 tokens");
  EXPECT_HAS(across(4), "across       0.0 % of attention over 4 tokens");
}

TEST_F(OctetCommand, InspectFindsTheRangeOfIdsAndRemembersItWhenAsked) {
  test::write_tokens(folder_ / "ids", 70, TokenType::i32, [](std::int64_t i) { return i == 65 ? 70000 : 5; });
  const std::string side = folder_ / "ids.data.json", inspect = octet_tool + "inspect " + (folder_ / "ids");
  const std::string written = test::read_bytes(side);
  std::filesystem::remove(side);
  for (const std::string option : {"", " --remember", ""}) {
    const bool was_there = std::filesystem::exists(side);
    const CommandResult seen = run_command(inspect + option);
    EXPECT_EQ(seen.exit_code, 0) << seen.all();
    EXPECT_HAS(seen.all(), "ids          5 (at token 0) to 70000 (at token 65)");
    EXPECT_EQ(seen.all().find("remembered in " + side) != std::string::npos, !option.empty());
    EXPECT_EQ(std::filesystem::exists(side), was_there || !option.empty());
  }
  EXPECT_EQ(test::read_bytes(side), written);
}

TEST_F(OctetCommand, ExistingOutputIsReplacedOnlyWhenAsked) {
  ASSERT_EQ(run_command(prepare()).exit_code, 0);
  const CommandResult again = run_command(prepare());
  EXPECT_EQ(again.exit_code, 0) << again.all();
  EXPECT_HAS(again.all(), "x is made already, by the same command from the same input; --overwrite makes it anew");
  EXPECT_HAS(again.all(), "documents  2");
  EXPECT_HAS(again.all(), "bytes; made before, by the same command");
  const CommandResult refused = run_command(prepare("--split-documents blank-lines"));
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_HAS(refused.all(), "x.bin exists; --overwrite replaces it");
  EXPECT_EQ(run_command(prepare("--overwrite --split-documents blank-lines")).exit_code, 0);
}

/// 64 blocks of 64 KiB are what the fingerprint sees of 10 MB; a copy can lose what is between them.
TEST_F(OctetCommand, AScanComparesAllTokensWithWhatWasWritten) {
  test::write_tokens(folder_ / "ids", 5'000'000, TokenType::u16, [](std::int64_t i) { return 1 + i % 2999; });
  const std::string bin = folder_ / "ids.bin", scan = octet_tool + "inspect " + (folder_ / "ids") + " --scan";
  const CommandResult whole = run_command(scan);
  EXPECT_EQ(whole.exit_code, 0) << whole.all();
  EXPECT_HAS(whole.out, "ids          1 (at token 0) to 2999 (at token 2998)");
  EXPECT_HAS(whole.out, ", as it was when they were written");

  const std::uint64_t fingerprint = TokenFile(folder_ / "ids").fingerprint();
  std::string tokens = test::read_bytes(bin);
  std::fill_n(tokens.begin() + 70'000, 80'000, '\0');  // behind the first block, and before the second
  write_bytes(bin, tokens);
  ASSERT_EQ(TokenFile(folder_ / "ids").fingerprint(), fingerprint) << "or the test is of something else";
  const CommandResult damaged = run_command(scan);
  EXPECT_EQ(damaged.exit_code, 64);
  EXPECT_HAS(damaged.err, bin + ": the sum of its ids is ");
  EXPECT_HAS(damaged.err, "expected the tokens that were written: copy the file once more");

  // What an older version wrote has no sum, and gets it where it is asked for.
  const std::string side = folder_ / "ids.data.json";
  std::string known = test::read_bytes(side);
  const std::string field = ",\"content\":\"0123456789abcdef\"";
  known.erase(known.find(",\"content\""), field.size());
  write_bytes(side, known);
  const CommandResult without = run_command(scan);
  EXPECT_EQ(without.exit_code, 64);
  EXPECT_HAS(without.err, "its ids go from 0 to 2999, and " + side + " says 1 to 2999");
  std::fill_n(tokens.begin() + 70'000, 80'000, '\1');
  write_bytes(bin, tokens);
  EXPECT_HAS(run_command(scan + " --remember").out, "with nothing to compare it with");
  EXPECT_HAS(run_command(scan).out, ", as it was when they were written");
}

TEST_F(OctetCommand, WrongUseIsOneMessageAndExitCode64) {
  write_bytes(folder_ / "bad.idx", "MMIDIDX");
  write_bytes(folder_ / "bad.bin", "");
  write_bytes(folder_ / "binary", std::string("a\0b", 3));
  const std::string out = " --output " + (folder_ / "out/y");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "which command?"},
      {"prepar", "unknown command \"prepar\"; nearest: prepare"},
      {"inspekt", "nearest: inspect"},
      {"prepare", "--input"},
      {"prepare --input x", "--output"},
      {"prepare --inputs x" + out, "unknown option --inputs; nearest: --input (--help lists all)"},
      {"prepare --inp x" + out, "--inp"},
      {"prepare --input " + (folder_ / "missing") + out, "missing: cannot be read: No such file"},
      {"prepare --input " + (folder_ / "text") + out + " --tokenizer bpe", "unknown tokenizer \"bpe\"; known: bytes"},
      {"prepare --input " + (folder_ / "text") + out + " --split-documents line", "expected none or blank-lines"},
      {"prepare --input " + (folder_ / "binary") + out, "byte 0 at offset 1"},
      {"prepare --input " + (folder_ / "text") + out + " --field '\xff'", "--field \\xff: is no UTF-8"},
      {"prepare --input " + (folder_ / "text") + " --output /proc/octet/x", ": cannot be made: "},
      {"prepare --input " + (folder_ / "text") + " --output " + (folder_ / "bad.idx") + "/x", ": cannot be made: "},
      {"prepare --input x --workers many" + out, "--workers = \"many\": expected a decimal integer"},
      {"prepare --input x --workers 99999999999" + out,
       "--workers = \"99999999999\": expected a decimal integer of at most 31 bits"},
      {"prepare --input x --workers 4097" + out, "--workers = 4097: expected integer >= 0, <= 4096"},
      {"prepare --input x --holdout half" + out, "--holdout = \"half\": expected a finite number"},
      {"prepare --input x --overwrite=no" + out, "--overwrite"},
      {"prepare --input x -w" + out, "unknown option -w"},
      {"prepare --input x --output --overwrite", "the value of --output is missing"},
      {"inspect", "what to work on is missing; usage: octet inspect PATH"},
      {"inspect a.bin a.idx", "\"a.idx\" is one word too many; usage: octet inspect PATH"},
      {"doctor foo --json", "\"foo\" is one word too many; usage: octet doctor [OPTIONS] (--help explains it)"},
      {"checkpoint list a b c", "\"b\" is one word too many; usage: octet checkpoint list "},
      {"report", "what to work on is missing; usage: octet report RUN..."},
      {"submit status", "what to work on is missing; usage: octet submit status RUN_DIR"},
      {"tune explain", "--collective is missing; usage: octet tune explain --collective NAME"},
      {"submit status ''", "what to work on is an empty word; usage: octet submit status RUN_DIR"},
      {"submit cancel --run ''", "what to work on is an empty word; usage: octet submit cancel RUN_DIR"},
      {"generate '' --prompt x", "what to work on is an empty word; usage: octet generate MODEL --prompt TEXT"},
      {"report '' x", "what to work on is an empty word; usage: octet report RUN..."},
      {"job rest", "--run-dir is missing; usage: octet job before|after|refused|rest --run-dir DIR [OPTIONS] (--help "},
      {"tokenizer train --input x --vocab-size 300 --max-bad -1" + out, "--max-bad = -1: expected integer >= 0"},
      {"tokenizer train --input x --vocab-size 300 --min-frequency -1" + out,
       "--min-frequency = -1: expected integer >= 0"},
      {"job after --run-dir x --restarts -2", "--restarts = -2: expected integer >= -1"},
      {"job after --run-dir x --max-restarts -1", "--max-restarts = -1: expected integer >= 0"},
      {"job after --run-dir x --successors -1", "--successors = -1: expected integer >= 0"},
      {"tokenizer train --input x --vocab-size 300 --output " + (folder_ / "missing/t.json"),
       "missing/t.json: cannot be written: No such file or directory"},
      {"inspect " + (folder_ / "missing"), "cannot open"},
      {"inspect " + (folder_ / "bad"), "7 bytes is too short"},
      {"inspect " + (folder_ / "bad") + " --seq_len abc", "abc"},
      {"inspect " + (folder_ / "bad") + " --seq_len 0", "--seq_len = 0: expected integer >= 1"},
      {"inspect " + (folder_ / "bad") + " --seq_len 1000000000000",
       "--seq_len = 1000000000000: expected integer >= 1, <= 16777216"},
      {"inspect " + (folder_ / "bad") + " --validation_fraction 0.1", "needs --seq_len"},
  };
  for (const auto& [arguments, expected] : cases) {
    SCOPED_TRACE(arguments);
    const CommandResult result = run_command(octet_tool + arguments);
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_HAS(result.all(), expected);
    // What files were taken for is said before.
    const auto lines = std::ranges::count(result.all(), '\n') - lines_with(" I ", result.all());
    EXPECT_EQ(lines, 1) << result.all();
  }
  EXPECT_FALSE(fs::exists(folder_ / "out/y.bin"));
}

TEST_F(OctetCommand, AFullDiskLeavesNothing) {
  // A limit on the size of files, which ends nothing by a signal, is told as one: 512 or 1,024 bytes, and the text has
  // more.
  const CommandResult result = run_command("ulimit -f 1; " + prepare());
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_HAS(result.all(), (folder_ / "out/x.bin.tmp") + ": cannot be written");
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
}

TEST_F(OctetCommand, AFullDiskLeavesTheOldTokenizer) {
  const std::string file = folder_ / "t.json";
  write_bytes(file, "the old one");
  const CommandResult result =
      run_command(fmt::format("ulimit -f 1; {}tokenizer train --input {} --vocab-size 300 --output {} "
                              "--overwrite",
                              octet_tool, folder_ / "text", file));
  EXPECT_EQ(result.exit_code, 70) << result.all();
  EXPECT_HAS(result.all(), "--output: " + file + ": cannot be written");
  EXPECT_EQ(test::read_bytes(file), "the old one");
}

/// Some file systems say so by writing nothing.
TEST_F(OctetCommand, NothingWrittenIsAFullDisk) {
  const CommandResult result = run_command(fmt::format("env LD_PRELOAD={} OCTET_FAULT_ROOT={} OCTET_FAULT=zero:1 {}",
                                                       OCTET_FAULTS, folder_ / "out", prepare()));
  EXPECT_EQ(result.exit_code, 70) << result.all();
  EXPECT_HAS(result.all(), (folder_ / "out/x.bin.tmp") + ": cannot be written: No space left on device");
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
}

TEST_F(OctetCommand, AKilledRunLeavesNothingThatLooksWholeAndCanBeRepeated) {
  const CommandResult killed = run_command(fmt::format("env LD_PRELOAD={} OCTET_FAULT_ROOT={} OCTET_FAULT=kill:3 {}",
                                                       OCTET_FAULTS, folder_ / "out", prepare()));
  EXPECT_EQ(killed.exit_code, 137) << killed.all();
  EXPECT_FALSE(fs::is_empty(folder_ / "out"));
  EXPECT_FALSE(fs::exists(folder_ / "out/x.bin"));
  EXPECT_FALSE(fs::exists(folder_ / "out/x.idx"));
  EXPECT_EQ(run_command(prepare()).exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "out"), {}), 3);  // .bin, .idx, .data.json
}

}  // namespace
}  // namespace octet

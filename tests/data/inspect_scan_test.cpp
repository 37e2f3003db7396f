// `octet inspect --scan` and `--remember` of data that are not what stands beside them, and of parts.
#include "src/data/data_facts.h"
#include "src/data/token_sum.h"
#include "tests/data/support.h"
#include "tests/support/bytes_identity.h"
#include "tests/support/run_command.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::read_bytes;
using test::run_command;
using test::TempFolder;
using test::write_bytes;

class InspectScan : public testing::Test {
 protected:
  /// 1,000 ids from `first` on, as `octet prepare` writes them.
  void write(const std::string& name, std::int32_t first) const {
    TokenFileWriter::Options options{.overwrite = true, .tokenizer = test::bytes_tokenizer_identity()};
    options.origin = DataOrigin{.making = {{"--holdout", "0"}}, .command = 7, .eos = true};
    TokenFileWriter writer(folder_ / name, TokenType::u16, options);
    for (std::int32_t id = first; id < first + 1000; ++id) writer.append(std::vector<std::int32_t>{id});
    writer.count_text(1000);
    writer.end_document();
    writer.finish();
  }
  CommandResult inspect(const std::string& name, const std::string& options) const {
    return run_command(fmt::format("{}/octet inspect {} {}", OCTET_BIN_DIR, folder_ / name, options));
  }
  void refuses(const std::string& name, const std::string& options, const std::string& message) const {
    const CommandResult refused = inspect(name, options);
    EXPECT_EQ(refused.exit_code, 64) << refused.all();
    EXPECT_HAS(refused.err, message);
  }
  void takes(const std::string& name, const std::string& options, const std::string& line) const {
    const CommandResult taken = inspect(name, options);
    EXPECT_EQ(taken.exit_code, 0) << taken.all();
    EXPECT_HAS(taken.out, line);
  }
  std::string side_file(const std::string& name) const { return folder_ / (name + ".data.json"); }
  void zero(const std::string& name, std::size_t begin, std::size_t bytes) const {
    const std::string path = folder_ / (name + ".bin");
    write_bytes(path, read_bytes(path).replace(begin, bytes, bytes, '\0'));
  }
  void remove_sum(const std::string& name) const {
    std::string known = read_bytes(side_file(name));
    const std::string field = ",\"content\":\"0123456789abcdef\"";
    const std::size_t at = known.find(",\"content\"");
    ASSERT_NE(at, std::string::npos);
    write_bytes(side_file(name), known.erase(at, field.size()));
  }

  TempFolder folder_;
};

/// Where the fingerprint differs nothing of the side file is used, and so there was nothing to compare with.
TEST_F(InspectScan, DamageThatTheFingerprintSeesIsDamage) {
  write("x", 1);
  const std::string known = read_bytes(side_file("x"));
  zero("x", 500, 400);
  refuses("x", "--scan", (folder_ / "x.bin") + ": its fingerprint is ");
  EXPECT_EQ(inspect("x", "").exit_code, 0) << "what is there can be looked at";
  for (const char* options : {"--remember", "--scan --remember"}) {
    refuses("x", options, "--remember: " + side_file("x") + " is of other data than ");
    EXPECT_EQ(read_bytes(side_file("x")), known);
  }
  fs::remove(side_file("x"));
  takes("x", "--scan --remember", "remembered in " + side_file("x"));
  takes("x", "--scan", ", as it was when they were written");

  test::write_tokens(folder_ / "y", 10, TokenType::u16, [](std::int64_t i) { return i; });  // of fewer tokens
  fs::copy(folder_ / "x.data.json", folder_ / "y.data.json", fs::copy_options::overwrite_existing);
  refuses("y", "--scan", (folder_ / "y.bin") + ": its fingerprint is ");
}

/// A scan of what came from elsewhere says a range that may be found again.
TEST_F(InspectScan, ARangeOfOtherDataIsReplaced) {
  test::write_tokens(folder_ / "x", 10, TokenType::u16, [](std::int64_t i) { return i; });
  remove_sum("x");
  test::write_tokens(folder_ / "y", 10, TokenType::u16, [](std::int64_t i) { return i + 1; });
  fs::copy(folder_ / "x.data.json", folder_ / "y.data.json", fs::copy_options::overwrite_existing);
  takes("y", "--remember", "remembered in " + side_file("y"));
}

TEST_F(InspectScan, ADamagedPartIsNamed) {
  write("x-00001-of-00002", 1);
  write("x-00002-of-00002", 1001);
  takes("x", "--scan", ", as it was when they were written");
  zero("x-00002-of-00002", 0, 2);
  refuses("x", "--scan", (folder_ / "x-00002-of-00002.bin") + ": its fingerprint is ");
  const std::string logged = inspect("x", "").err;
  EXPECT_HAS(logged, side_file("x-00002-of-00002") + ": is of other data than " + (folder_ / "x-00002-of-00002.bin") +
                         ", unlike the files of other parts of the data set");
  EXPECT_HAS(logged, "copy the part once more, or make it anew");
  refuses("x", "--remember", "--remember: " + side_file("x-00002-of-00002") + " is of other data than ");
  EXPECT_FALSE(fs::exists(side_file("x")));
}

TEST_F(InspectScan, SumsOfSomePartsAreToldAsSuch) {
  write("x-00001-of-00002", 1);
  write("x-00002-of-00002", 1001);
  remove_sum("x-00002-of-00002");
  takes("x", "--scan", ", compared for 1 of 2 parts");
  remove_sum("x-00001-of-00002");
  takes("x", "--scan", ", with nothing to compare it with");
  takes("x", "--scan --remember", "remembered in " + side_file("x"));
  takes("x", "--scan", ", as it was when they were written");
  const auto facts = read_data_facts(side_file("x"), TokenFile(folder_ / "x"));
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->content);
  EXPECT_EQ(facts->tokenizer, test::bytes_tokenizer_identity());
}

TEST_F(InspectScan, WhatWasRememberedOfPartsTogetherIsCompared) {
  write("x-00001-of-00002", 1);
  write("x-00002-of-00002", 1001);
  const TokenFile file(folder_ / "x");
  for (const TokenPair& pair : file.pairs()) fs::remove(data_facts_path(pair.prefix()));
  DataFacts wrong{.range = {.smallest = {2, 0}, .largest = {2000, 1999}}};
  ASSERT_TRUE(write_data_facts(side_file("x"), file, wrong));
  refuses("x", "--scan", ": their ids go from 1 to 2000, and " + side_file("x") + " says 2 to 2000");
  wrong.range.smallest = {1, 0};
  wrong.content = 12;
  ASSERT_TRUE(write_data_facts(side_file("x"), file, wrong));
  refuses("x", "--scan", ": the sum of their ids is ");
  zero("x-00002-of-00002", 0, 2);
  refuses("x", "--scan", "x-00002-of-00002.bin: its fingerprint is ");
}

}  // namespace
}  // namespace octet

// What stands where the output of `octet prepare` would be: what the same command has made or begun, parts of other
// options or of another input, a pair beside parts.
#include "src/corpus/existing_outputs.h"

#include "src/base/error.h"
#include "src/corpus/making.h"
#include "src/data/data_facts.h"
#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::CorpusTest;
using test::error_of;
using test::read_bytes;
using test::run_command;
using test::write_bytes;

const std::string tokenizer_file = std::string(OCTET_SOURCE_DIR) + "/tests/tokenizer/golden/bpe-512.json";

class ExistingOutputs : public CorpusTest {
 protected:
  ExistingOutputs() {
    for (int file = 0; file < 4; ++file) {
      std::string text;
      for (int i = 0; i < 20; ++i) text += fmt::format("{{\"text\": \"document {} of {}\"}}\n", i, file);
      write_bytes(folder_ / fmt::format("in/{}.jsonl", file), text);
    }
  }
  PrepareOptions anew(const std::string& output = "x") const {
    PrepareOptions o = options({"in"}, output);
    o.overwrite = false;
    return o;
  }
  PrepareOptions part(std::int64_t number, std::int64_t of) const {
    PrepareOptions o = options({"in"});
    o.part = {number - 1, of};
    return o;
  }
  std::string out(const std::string& name) const { return folder_ / ("out/" + name); }
  /// Names, contents and times.
  std::map<std::string, std::pair<std::string, fs::file_time_type>> files() const {
    std::map<std::string, std::pair<std::string, fs::file_time_type>> all;
    for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
      all[entry.path().filename()] = {read_bytes(entry.path()), entry.last_write_time()};
    }
    return all;
  }
  std::string refused_parts() const {
    return error_of([&] { read_data_facts(out("x.data.json"), TokenFile(out("x"))); });
  }
};

TEST_F(ExistingOutputs, ThatTheSameCommandHasMadeStay) {
  for (const std::int64_t part_bytes : {std::int64_t{1} << 30, std::int64_t{1000}}) {
    for (const std::int64_t shares : {1, 2}) {
      PrepareOptions o = anew();
      o.tokenizer = tokenizer_file;
      o.holdout = 0.3;
      o.part_bytes = part_bytes;
      o.part = {shares - 1, shares};
      const PrepareReport made = prepare(o);
      EXPECT_FALSE(made.made_before);
      const auto before = files();
      const PrepareReport again = prepare(o);
      EXPECT_TRUE(again.made_before);
      EXPECT_TRUE(files() == before);
      EXPECT_EQ(again.written, made.written);
      EXPECT_EQ(again.counts.kept.documents, made.counts.kept.documents);
      EXPECT_EQ(again.counts.held_out.tokens, made.counts.held_out.tokens);
      EXPECT_EQ(again.counts.kept.text_bytes, made.counts.kept.text_bytes);
      const std::string prefix = shares == 1 ? "x" : "x-00002-of-00002";
      fs::remove(out(prefix + ".tokenizer.json"));  // which comes last
      EXPECT_TRUE(prepare(o).made_before);
      EXPECT_TRUE(fs::exists(out(prefix + ".tokenizer.json")));
      fs::remove_all(folder_ / "out");
    }
  }
}

TEST_F(ExistingOutputs, OfAnotherCommandOrOfNoneAreRefused) {
  prepare(anew());
  const auto refused = [&](const PrepareOptions& o) {
    EXPECT_HAS(error_of([&] { prepare(o); }), "x.bin exists; --overwrite replaces it");
  };
  PrepareOptions other = anew();
  other.eos = false;
  refused(other);
  const std::string side_file = read_bytes(out("x.data.json"));
  fs::remove(out("x.data.json"));
  refused(anew());
  fs::remove(out("x.idx"));  // anybody's .bin
  refused(anew());
  write_bytes(out("x.data.json"), side_file);
  EXPECT_NO_THROW(prepare(anew()));
  write_bytes(out("x.bin"), std::string(fs::file_size(out("x.bin")), 'x'));
  refused(anew());
  PrepareOptions o = anew();
  o.overwrite = true;
  EXPECT_FALSE(prepare(o).made_before);
  write_bytes(folder_ / "in/3.jsonl", "{\"text\": \"another one\"}\n");
  refused(anew());
}

TEST_F(ExistingOutputs, OfWhichOneWasKilledAtAnyCallAreMadeByTheSameCommand) {
  const auto run = [&](const std::string& name, const std::string& fault) {
    const std::string faults =
        fault.empty() ? ""
                      : fmt::format("env LD_PRELOAD={} OCTET_FAULT_ROOT={} {} ", OCTET_FAULTS, folder_ / name, fault);
    fs::create_directories(folder_ / name);
    return run_command(
        fmt::format("{}{}/octet prepare --input {} --tokenizer {} --output {}/x --holdout 0.3 --part 1/2", faults,
                    OCTET_BIN_DIR, folder_ / "in", tokenizer_file, folder_ / name));
  };
  const auto there = [&](const std::string& name) {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_ / name)) {
      all[entry.path().filename()] = read_bytes(entry.path());
    }
    return all;
  };
  ASSERT_EQ(run("whole", "OCTET_FAULT_COUNT=" + (folder_ / "count")).exit_code, 0);
  const auto expected = there("whole");
  EXPECT_EQ(expected.size(), 8U) << "two pairs, each with side file and tokenizer";
  const long calls = std::stol(read_bytes(folder_ / "count"));
  for (long call = 1; call <= calls; ++call) {
    SCOPED_TRACE(fmt::format("killed at call {} of {}", call, calls));
    const std::string name = fmt::format("killed{}", call);
    EXPECT_EQ(run(name, fmt::format("OCTET_FAULT=kill:{}", call)).exit_code, 137);
    const CommandResult again = run(name, "");
    EXPECT_EQ(again.exit_code, 0) << again.all();
    EXPECT_TRUE(there(name) == expected);
    fs::remove_all(folder_ / name);
  }
}

TEST_F(ExistingOutputs, PartsOfAnotherListingAreNotOneDataSet) {
  for (int number = 1; number <= 2; ++number) prepare(part(number, 4));
  const std::string left = read_bytes(folder_ / "in/1.jsonl");
  fs::remove(folder_ / "in/1.jsonl");
  for (int number = 3; number <= 4; ++number) prepare(part(number, 4));
  EXPECT_HAS(refused_parts(),
             "x-00003-of-00004 are parts of one data set, but were not made alike: --input was 4 files");
  write_bytes(folder_ / "in/1.jsonl", left);  // of another time, and another text that is as long
  for (int number = 3; number <= 4; ++number) prepare(part(number, 4));
  EXPECT_TRUE(read_data_facts(out("x.data.json"), TokenFile(out("x"))));
  EXPECT_EQ(TokenFile(out("x")).documents(), 80);
}

TEST_F(ExistingOutputs, PartsOfOtherOptionsAreNotOneDataSet) {
  const std::vector<std::pair<std::function<void(PrepareOptions&)>, std::string>> changes = {
      {[](PrepareOptions& o) { o.part_bytes = 1000; }, "--part-size was 268435456 and 1000"},
      {[](PrepareOptions& o) { o.eos = false; }, "--eos was true and false"},
      {[](PrepareOptions& o) { o.holdout = 0.25; }, "--holdout was 0 and 0.25"}};
  for (const auto& [change, message] : changes) {
    PrepareOptions second = part(2, 2);
    change(second);
    prepare(part(1, 2));
    prepare(second);
    EXPECT_HAS(refused_parts(), message);
    fs::remove_all(folder_ / "out");
  }
  // What ends a run does not change its tokens, nor does where the input lies; a format may be named for one part
  // alone.
  PrepareOptions second = part(2, 2);
  second.bad_utf8 = BadUtf8::replace;
  second.max_document *= 2;
  second.format = TextFormat::jsonl;
  fs::copy(folder_ / "in", folder_ / "copied");
  second.inputs = {folder_ / "copied"};
  prepare(part(1, 2));
  prepare(second);
  EXPECT_TRUE(read_data_facts(out("x.data.json"), TokenFile(out("x"))));
}

TEST_F(ExistingOutputs, TheNameOfTheTokenizersFileDoesNotCount) {
  fs::copy(tokenizer_file, folder_ / "copied.json");
  PrepareOptions first = part(1, 2), second = part(2, 2);
  first.tokenizer = tokenizer_file;
  second.tokenizer = folder_ / "copied.json";
  prepare(first);
  prepare(second);
  EXPECT_TRUE(read_data_facts(out("x.data.json"), TokenFile(out("x"))));
  first.tokenizer = second.tokenizer;
  first.overwrite = false;
  EXPECT_TRUE(prepare(first).made_before);
}

TEST_F(ExistingOutputs, OfWhichWhatWasHeldOutIsGoneAreMadeAnewAndThatIsSaid) {
  PrepareOptions o = anew();
  o.holdout = 0.3;
  prepare(o);
  const std::string expected = both() + both("x-holdout");
  for (const char* end : {"bin", "idx"}) fs::remove(out("x-holdout.") + end);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(prepare(o).made_before);
  EXPECT_HAS(testing::internal::GetCapturedStderr(), out("x-holdout") + " is gone, which the same command had made");
  EXPECT_EQ(both() + both("x-holdout"), expected);
}

/// They would read all tokens again.
TEST_F(ExistingOutputs, ThatAreMadeAlreadyHaveNoEntropiesInTheReport) {
  EXPECT_TRUE(prepare(anew()).entropies);
  const PrepareReport again = prepare(anew());
  EXPECT_TRUE(again.made_before);
  EXPECT_FALSE(again.entropies);
}

TEST_F(ExistingOutputs, APairAndPartsOfOneNameAreRefused) {
  prepare(options({"in"}));
  EXPECT_HAS(error_of([&] { prepare(part(2, 3)); }),
             out("x.bin") + " is there, and " + out("x-00002-of-00003") + " would be written beside it");
  for (const char* end : {"bin", "idx"}) fs::remove(out("x.") + end);
  prepare(part(2, 3));
  EXPECT_HAS(error_of([&] { prepare(options({"in"})); }),
             out("x-00002-of-00003.idx") + " is there, and " + out("x") + " would be written beside it");
  EXPECT_FALSE(fs::exists(out("x.idx")));
}

/// The sum of a whole is made of those of the parts that were joined.
TEST_F(ExistingOutputs, TheSumOfIdsIsThatOfTheTokens) {
  for (const std::int64_t part_bytes : {std::int64_t{1} << 30, std::int64_t{700}}) {
    PrepareOptions o = options({"in"});
    o.part_bytes = part_bytes;
    o.holdout = 0.3;
    prepare(o);
    for (const char* name : {"x", "x-holdout"}) {
      const TokenPair pair(out(name));
      const auto facts = read_data_facts(pair);
      ASSERT_TRUE(facts);
      EXPECT_EQ(facts->content, read_all_tokens(pair, [](std::int64_t) {}).sum.value());
    }
  }
}

}  // namespace
}  // namespace octet

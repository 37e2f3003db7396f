// How an input is cut into parts and shares.
#include "src/corpus/part_plan.h"

#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

using test::error_of;

class PartPlan : public test::CorpusTest {
 protected:
  /// Files of text of these sizes, in this order.
  InputFiles files(const std::vector<std::size_t>& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      test::write_bytes(folder_ / fmt::format("in/{}.txt", i), std::string(sizes[i], 'a'));
    }
    return find_input_files({folder_ / "in"});
  }
  /// The names of the files of each part, "01 2".
  static std::string text_of(const InputPlan& plan) {
    std::string text;
    for (const InputPart& part : plan.parts) {
      text += text.empty() ? "" : " ";
      for (const InputUnit& unit : part.units) text += std::filesystem::path(unit.path).stem().string();
    }
    return text;
  }
};

TEST_F(PartPlan, SmallFilesGoTogetherUntilAPartIsFull) {
  const InputFiles input = files({30, 70, 30, 80, 200, 10});
  const InputPlan plan = plan_input(input, {}, 100, {});
  EXPECT_EQ(text_of(plan), "01 2 3 4 5");
  EXPECT_EQ(plan.bytes, 420);
  EXPECT_EQ(plan.files, 6);
  EXPECT_EQ(plan.parts[0].bytes, 100) << "that is full to the byte";
}

TEST_F(PartPlan, AShareHasTheFilesWhoseMiddleIsInIt) {
  const InputFiles input = files({60, 60, 80});  // middles at 30, 90 and 160 of 200
  const auto share = [&](std::int64_t n, std::int64_t of) { return text_of(plan_input(input, {}, 1000, {n, of})); };
  EXPECT_EQ(share(0, 2), "01");
  EXPECT_EQ(share(1, 2), "2");
  EXPECT_EQ(share(0, 4), "0");
  EXPECT_EQ(share(1, 4), "1");
  EXPECT_EQ(share(2, 4), "");
  EXPECT_EQ(share(3, 4), "2");
}

/// A share of 256 would else open, and read the beginning of, all files of the corpus.
TEST_F(PartPlan, AShareLooksIntoItsOwnFilesOnly) {
  test::write_bytes(folder_ / "in/1.jsonl", "no record\n" + std::string(90, ' '));
  test::write_bytes(folder_ / "in/0.jsonl.gz", "");
  test::write_bytes(folder_ / "in/2.txt", std::string(100, 'a'));
  test::write_bytes(folder_ / "in/3.parquet", std::string(100, 'a'));
  const InputFiles input = find_input_files({folder_ / "in"});
  const auto plan = [&](std::int64_t n) { return plan_input(input, {}, 1000, {n, 3}); };
  EXPECT_EQ(text_of(plan(1)), "2");
  EXPECT_EQ(plan(1).formats, (std::map<std::string, std::int64_t>{{"text", 1}}));
  EXPECT_HAS(error_of([&] { plan(0); }), "0.jsonl.gz: its name says gzip, its content that it is empty");
  EXPECT_HAS(error_of([&] { plan(2); }), "3.parquet: its name says parquet, its content something else");
}

TEST_F(PartPlan, WhatIsCutIsToldByTheNameAndOtherwiseByTheContent) {
  const std::string lines = R"({"text": "a"})" + std::string(86, ' ') + "\n";
  const auto pieces = [&](const std::string& name, const std::string& text, std::optional<TextFormat> format = {}) {
    test::write_bytes(folder_ / name, text);
    return plan_input(find_input_files({folder_ / name}), format, 20, {}).parts.size();
  };
  EXPECT_EQ(pieces("a.jsonl", lines), 5U);
  EXPECT_EQ(pieces("a.jsonl", lines, TextFormat::text), 1U);
  EXPECT_EQ(pieces("a.txt", lines, TextFormat::jsonl), 5U);
  EXPECT_EQ(pieces("a.txt", std::string(100, 'a')), 1U);
  EXPECT_EQ(pieces("b", lines), 5U);
  EXPECT_EQ(pieces("b", lines, TextFormat::text), 1U);
  EXPECT_EQ(pieces("c", std::string(100, 'a')), 1U);
  EXPECT_EQ(pieces("c", std::string(100, 'a'), TextFormat::jsonl), 5U);
  test::write_bytes(folder_ / "d.jsonl", lines);
  const std::string gzip = test::read_bytes(test::packed(folder_ / "d.jsonl", "gzip", ".gz"));
  ASSERT_GT(gzip.size(), 20U);
  EXPECT_EQ(pieces("d", gzip), 1U) << "packed, though no name says so";
  EXPECT_EQ(pieces("d", gzip, TextFormat::jsonl), 1U);
  EXPECT_EQ(pieces("e.jsonl.gz", gzip), 1U);
}

}  // namespace
}  // namespace octet

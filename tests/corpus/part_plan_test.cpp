// How an input is cut into parts and shares.
#include "src/corpus/part_plan.h"

#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

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
      for (const Unit& unit : part.units) text += std::filesystem::path(unit.path).stem().string();
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

}  // namespace
}  // namespace octet

// Datasets as files: Parquet holds what JSONL of the same rows does, and what cannot be read is refused by its place.
// tests/evaluate/tasks/make_parquet.py made the Parquet.
#include "src/evaluate/tasks/dataset_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/evaluate/tasks/load_task.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

const std::string rows_of_lines = OCTET_SOURCE_DIR "/tests/evaluate/tasks/golden/data";
const std::string rows_of_parquet = OCTET_SOURCE_DIR "/tests/evaluate/tasks/golden/parquet";

#ifdef OCTET_HAS_ARROW
constexpr bool reads_parquet = true;
#else
constexpr bool reads_parquet = false;
#endif

class DatasetFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_ / "piqa"); }

  void put(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(overwrite_text(folder_ / name, text));
  }
  std::string files_refused() const {
    return test::error_of([&] { dataset_files(folder_ / "piqa", "train"); });
  }
  /// PIQA's questions, of a file's bytes.
  std::string refused(const std::string& bytes) const {
    put("piqa/validation.parquet", bytes);
    return test::error_or_none([&] { load_task(find_tasks({"piqa"}).tasks[0], folder_.path(), 0); });
  }

  test::TempFolder folder_;
};

#define EXPECT_SAYS(text, part) EXPECT_PRED_FORMAT2(testing::IsSubstring, part, text)

void expect_same(const LoadedTask& a, const LoadedTask& b) {
  ASSERT_EQ(a.items.size(), b.items.size()) << a.name;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    EXPECT_EQ(a.items[i].contexts, b.items[i].contexts) << a.name << ", question " << i;
    EXPECT_EQ(a.items[i].continuations, b.items[i].continuations) << a.name << ", question " << i;
    EXPECT_EQ(a.items[i].choices, b.items[i].choices) << a.name << ", question " << i;
    EXPECT_EQ(a.items[i].gold, b.items[i].gold) << a.name << ", question " << i;
    EXPECT_EQ(a.items[i].example, b.items[i].example) << a.name << ", question " << i;
  }
}

/// Also with examples, which depend on which rows are equal, and on those of both files.
TEST(DatasetParquet, AsksWhatJsonLinesOfTheSameRowsAsk) {
  if (!reads_parquet) GTEST_SKIP() << "this build has no Arrow (jobs/install-arrow.sh)";
  const TaskSelection all = find_tasks(
      {"arc_challenge", "arc_easy", "hellaswag", "mmlu_anatomy", "openbookqa", "piqa", "sciq", "winogrande"});
  for (const KnownTask& task : all.tasks) {
    for (const std::int64_t shots : {0, 3}) {
      expect_same(load_task(task, rows_of_lines, shots), load_task(task, rows_of_parquet, shots));
    }
  }
}

TEST_F(DatasetFiles, OfParquetAreRefusedByRowAndColumn) {
  if (!reads_parquet) GTEST_SKIP() << "this build has no Arrow (jobs/install-arrow.sh)";
  const auto of = [&](const std::string& name) {
    return refused(*read_text_file(rows_of_parquet + "/refused/" + name + ".parquet"));
  };
  EXPECT_SAYS(of("no-rows"), "piqa/validation.parquet: has no row");
  EXPECT_SAYS(of("no-column"), "piqa/validation.parquet: row 0 (from 0): sol2 is missing; expected a text");
  EXPECT_SAYS(of("column-twice"), "validation.parquet: cannot be read as Parquet: two columns are named goal");
  EXPECT_SAYS(of("number-for-text"), "row 0 (from 0): sol1 is 1; expected a text");
  EXPECT_SAYS(of("time-for-text"), "row 0 (from 0): goal is {\"timestamp[us]\":\"2026-01-02 00:00:00.000000\"}; exp");
  EXPECT_SAYS(of("null-for-text"), "row 1 (from 0): goal is null; expected a text");
  EXPECT_SAYS(of("text-for-number"), "row 0 (from 0): label is \"1\"; expected an integer of 0 to 1");
  EXPECT_SAYS(of("bad-utf8"), "validation.parquet: cannot be read as Parquet: Invalid: ");
}

TEST_F(DatasetFiles, ThatAreTornAreOneErrorWithTheirName) {
  if (!reads_parquet) GTEST_SKIP() << "this build has no Arrow (jobs/install-arrow.sh)";
  const std::string whole = *read_text_file(rows_of_parquet + "/piqa/validation.parquet");
  const std::string torn = "piqa/validation.parquet: cannot be read as Parquet: ";
  EXPECT_EQ(refused(whole), "");
  EXPECT_SAYS(refused(""), torn);
  EXPECT_SAYS(refused("{}"), torn);
  for (const std::size_t bytes : {4ul, whole.size() / 2, whole.size() - 1})
    EXPECT_SAYS(refused(whole.substr(0, bytes)), torn);
  std::string damaged = whole;
  for (std::size_t i = 4; i < 60; ++i) damaged[i] = '\xFF';
  EXPECT_SAYS(refused(damaged), torn);
}

TEST_F(DatasetFiles, OfOwnTasksAreParquetByTheirName) {
  put("own.yaml", "name: own\npath: rows.parquet\ncontext: question\nchoices: choices\ngold: answer\n");
  fs::copy_file(rows_of_parquet + "/mmlu/anatomy/test.parquet", folder_ / "rows.parquet");
  const auto load = [&] { return load_own_task(folder_ / "own.yaml"); };
  if (!reads_parquet) {
    EXPECT_SAYS(test::error_of(load),
                "rows.parquet: is Parquet, which this build does not read: run jobs/install-arrow.sh");
    GTEST_SKIP() << "this build has no Arrow (jobs/install-arrow.sh): its refusal was tested";
  }
  put("lines.yaml", "name: own\npath: rows.jsonl\ncontext: question\nchoices: choices\ngold: answer\n");
  fs::copy_file(rows_of_lines + "/mmlu/anatomy/test.jsonl", folder_ / "rows.jsonl");
  expect_same(load(), load_own_task(folder_ / "lines.yaml"));
}

TEST_F(DatasetFiles, OfASplitAreOneOrAllItsPieces) {
  using Names = std::vector<std::string>;
  const std::string piqa = folder_ / "piqa";
  EXPECT_SAYS(files_refused(), "piqa/train.jsonl: is not there, nor is train.parquet or train-00000-of-00001.parquet");
  put("piqa/train-00001-of-00002.parquet", "");
  EXPECT_SAYS(files_refused(), "train-00001-of-00002.parquet: expected train-00000-of-00001.parquet in its place");
  put("piqa/train-00000-of-00002-0123abcd.parquet", "");  // as older releases of Hugging Face's datasets name them
  EXPECT_EQ(dataset_files(piqa, "train"),
            (Names{piqa + "/train-00000-of-00002-0123abcd.parquet", piqa + "/train-00001-of-00002.parquet"}));
  put("piqa/train.parquet", "");
  EXPECT_SAYS(files_refused(), "piqa/train.parquet and ");
  EXPECT_SAYS(files_refused(), "piqa/train-00000-of-00002-0123abcd.parquet are both there; expected one of them");
  put("piqa/train.jsonl", "");
  EXPECT_SAYS(files_refused(), "piqa/train.jsonl and ");
  fs::remove(piqa + "/train-00000-of-00002-0123abcd.parquet");
  fs::remove(piqa + "/train-00001-of-00002.parquet");
  EXPECT_SAYS(files_refused(), "/train.parquet are both there; expected one of them");
  fs::remove(piqa + "/train.parquet");
  EXPECT_EQ(dataset_files(piqa, "train"), Names{piqa + "/train.jsonl"});
}

}  // namespace
}  // namespace octet

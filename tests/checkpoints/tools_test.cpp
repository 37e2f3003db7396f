// What `octet checkpoint` is made of: parts, rewriting, verification, comparison.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "checkpoints/format/durable.h"
#include "checkpoints/restore/verification.h"
#include "checkpoints/tools/compare_checkpoints.h"
#include "src/base/files.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"
#include "tests/support/expect_has.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using Kind = TensorDifference::Kind;

class Tools : public testing::Test {
 protected:
  test::TemporaryDirectory root_;
};

TEST(Parts, AreWholeRowsOfAtMostSoManyBytes) {
  const StoredTensor tensor{"t", DType::f32, {10, 3}};  // 12 bytes a row
  const auto rows_of = [&](std::int64_t most) {
    std::vector<std::pair<std::int64_t, std::int64_t>> rows;
    for (const Part& part : row_parts(tensor, 4, most)) {
      EXPECT_EQ(part.tensor, 4);
      EXPECT_EQ(part.box.extent[1], 3);
      rows.emplace_back(part.box.offset[0], part.box.extent[0]);
    }
    return rows;
  };
  using Rows = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(rows_of(1000), (Rows{{0, 10}}));
  EXPECT_EQ(rows_of(120), (Rows{{0, 10}}));
  EXPECT_EQ(rows_of(119), (Rows{{0, 9}, {9, 1}}));
  EXPECT_EQ(rows_of(36), (Rows{{0, 3}, {3, 3}, {6, 3}, {9, 1}}));
  EXPECT_EQ(rows_of(1), (Rows{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 1}, {9, 1}}));
  EXPECT_TRUE(row_parts({"t", DType::f32, {4, 0}}, 0).empty());
  EXPECT_TRUE(row_parts(tensor, 0, 3, 0).empty());
}

TEST_F(Tools, APartReaderGivesTheSameInBatchesOfAnySize) {
  const auto values = test::write_small(root_ / "c", 1);
  const Manifest manifest = read_manifest(root_ / "c");
  std::vector<Part> parts;
  for (std::size_t t = manifest.tensors.size(); t-- > 0;) {  // in another order than they are stored
    for (const Part& part : row_parts(manifest.tensors[t], static_cast<std::int32_t>(t), 700)) parts.push_back(part);
  }
  for (const std::int64_t most : {std::int64_t{1}, std::int64_t{900}, most_part_bytes}) {
    PartReader reader(root_ / "c", manifest, parts, most);
    for (const Part& part : parts) {
      const StoredTensor& t = manifest.tensors[static_cast<std::size_t>(part.tensor)];
      const float* expected = values.at(t.name).data() + part.box.offset[0] * t.shape.row_elements();
      ASSERT_EQ(std::memcmp(reader.next(), expected, static_cast<std::size_t>(bytes_of(t, part.box))), 0) << t.name;
    }
    EXPECT_HAS(error_of([&] { reader.next(); }, ExitCode::internal), "more than");
  }
}

TEST_F(Tools, ReshardingKeepsEveryBitAndTheState) {
  const auto values = test::write_small(root_ / "in", 5);
  const Manifest in = read_manifest(root_ / "in");
  EXPECT_EQ(in.files.size(), 3u);
  for (const int writers : {1, 2, 4, 7, 60}) {  // 60 is more than the rows of any tensor
    SCOPED_TRACE(writers);
    const std::string out = root_ / fmt::format("out{}", writers);
    std::int64_t done = 0;
    const Manifest written = reshard(root_ / "in", in, out, writers, [&](std::int64_t bytes) { done += bytes; });
    EXPECT_EQ(done, bytes_of(in.tensors));
    EXPECT_EQ(read_manifest(out), written);
    EXPECT_EQ(written.state, in.state);
    EXPECT_EQ(written.tensors, in.tensors);
    EXPECT_EQ(written.files.size(), static_cast<std::size_t>(std::min(writers, 45)));
    EXPECT_TRUE(test::same_bits(test::read_values(out), values));
    EXPECT_TRUE(find_damage(out, written, 2).empty());
    EXPECT_FALSE(fs::exists(out + ".tmp"));
  }
}

TEST_F(Tools, WritersGetWhatRanksOfFsdpWouldHold) {
  const std::vector<StoredTensor> tensors = {{"a", DType::f32, {7, 2}}, {"b", DType::f32, {2}}};
  const auto plan = plan_writers(tensors, 3);
  const auto part = [](std::int32_t tensor, std::int64_t row, Shape extent) { return Part{tensor, {{row}, extent}}; };
  EXPECT_EQ(plan[0], (std::vector{part(0, 0, {3, 2}), part(1, 0, {1})}));
  EXPECT_EQ(plan[1], (std::vector{part(0, 3, {3, 2}), part(1, 1, {1})}));
  EXPECT_EQ(plan[2], (std::vector{part(0, 6, {1, 2})}));
}

TEST(Writers, AreAsManyAsLeaveAFile16GiB) {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  EXPECT_EQ(writers_by_size(0), 1);
  EXPECT_EQ(writers_by_size(16 * gib), 1);
  EXPECT_EQ(writers_by_size(16 * gib + 1), 2);
  EXPECT_EQ(writers_by_size(33 * gib), 4);
  EXPECT_EQ(writers_by_size(8'030'261'248 * 12), 8);      // Llama 3.1 8B
  EXPECT_EQ(writers_by_size(405'853'388'800 * 12), 512);  // Llama 3.1 405B
  EXPECT_EQ(writers_by_size(8192 * gib + 1), 512);        // as many as a reader keeps open
}

TEST_F(Tools, ACheckpointIsNotNamedAfterAnotherStep) {
  EXPECT_HAS(error_of([&] { test::write_small(root_ / "step-000004", 5); }),
             "checkpoint of step 5; expected step-000005");
  EXPECT_TRUE(fs::is_empty(root_.path()));
  test::write_small(root_ / "step-000005", 5);
  EXPECT_TRUE(fs::exists(root_ / "step-000005/manifest.json"));
}

TEST_F(Tools, WhatFailsLeavesNothingBehind) {
  const auto tensors = training_tensors(test::small_model());
  const auto values = test::values_of(tensors);
  int parts = 0;
  const PartSource failing = [&](const Part& part) -> const void* {
    if (++parts == 40) throw usage_error("test", "the source is gone");
    return values.at(tensors[static_cast<std::size_t>(part.tensor)].name).data();
  };
  EXPECT_HAS(error_of([&] {
               write_checkpoint(root_ / "a/c", test::small_state(1), tensors, plan_writers(tensors, 3), failing);
             }),
             "the source is gone");
  EXPECT_FALSE(fs::exists(root_ / "a"));
}

TEST_F(Tools, APendingDirectoryRefusesWhatIsInTheWay) {
  fs::create_directory(root_ / "empty");
  EXPECT_HAS(error_of([&] { PendingDirectory p(root_ / "empty", 0); }), "empty: exists");
  test::put_file(root_ / "file");
  EXPECT_HAS(error_of([&] { PendingDirectory p(root_ / "file/", 0); }), "file: exists");
  fs::create_symlink("nowhere", root_ / "link");
  EXPECT_HAS(error_of([&] { PendingDirectory p(root_ / "link", 0); }), "link: exists");
  fs::create_directory(root_ / "x.tmp");
  EXPECT_HAS(error_of([&] { PendingDirectory p(root_ / "x", 0); }), "x.tmp: exists");
  EXPECT_TRUE(fs::exists(root_ / "x.tmp"));
  EXPECT_HAS(error_of([&] { PendingDirectory p(root_ / "y", std::int64_t{1} << 62); }, ExitCode::internal), "to spare");
  EXPECT_FALSE(fs::exists(root_ / "y.tmp"));
  EXPECT_HAS(error_of([&] { PendingDirectory p("/", 0); }), "no name for a new folder");
  EXPECT_HAS(error_of([&] { PendingDirectory p(root_ / "file/below", 0); }), root_ / "file");
}

TEST_F(Tools, APendingDirectoryIsThereWhenItIsCommitted) {
  {
    PendingDirectory pending(root_ / "new/folder/", 0);
    EXPECT_EQ(pending.temporary(), root_ / "new/folder.tmp");
    test::put_file(pending.temporary() + "/file", "content");
    EXPECT_FALSE(fs::exists(root_ / "new/folder"));
    pending.commit();
  }
  EXPECT_EQ(test::content_of(root_ / "new/folder/file"), "content");
  EXPECT_FALSE(fs::exists(root_ / "new/folder.tmp"));
  { PendingDirectory given_up(root_ / "new/other", 0); }
  EXPECT_FALSE(fs::exists(root_ / "new/other.tmp"));
}

TEST_F(Tools, DamageIsNamedByFile) {
  test::write_small(root_ / "c", 1);
  const Manifest manifest = read_manifest(root_ / "c");
  std::int64_t read = 0;
  EXPECT_TRUE(find_damage(root_ / "c", manifest, 4, [&](std::int64_t bytes) { read += bytes; }).empty());
  EXPECT_EQ(read, bytes_to_verify(manifest));
  EXPECT_TRUE(find_missing(root_ / "c", manifest.files).empty());

  test::flip_bit(root_ / "c/writer-00000.h5", manifest.files[0].bytes / 2);
  fs::resize_file(root_ / "c/writer-00001.h5", 1000);
  fs::remove(root_ / "c/writer-00002.h5");
  const auto damage = find_damage(root_ / "c", manifest, 2);
  ASSERT_EQ(damage.size(), 3u);
  EXPECT_EQ(damage[0].file, "writer-00000.h5");
  EXPECT_HAS(damage[0].what, manifest.files[0].hash);
  EXPECT_HAS(damage[1].what, fmt::format("has 1000 bytes, expected {}", manifest.files[1].bytes));
  EXPECT_EQ(damage[2].what, "is missing");
  for (const Damage& d : damage) EXPECT_EQ(d.code, ExitCode::usage);
  EXPECT_EQ(find_missing(root_ / "c", manifest.files).size(), 2u);  // a flipped bit is not seen at a glance
}

/// Else terabytes would be read before the error is told. These are two files of 4 TB that take no room on the disk:
/// if they were read to their ends, this would take an hour.
TEST_F(Tools, FilesAreNotReadToTheirEndsWhereTheProgressThrows) {
  test::write_small(root_ / "c", 1);
  Manifest manifest = read_manifest(root_ / "c");
  for (std::size_t i = 0; i < 2; ++i) {
    manifest.files[i].bytes = std::int64_t{1} << 42;
    std::error_code error;
    fs::resize_file(root_ / ("c/" + manifest.files[i].name), std::uintmax_t{1} << 42, error);
    if (error) GTEST_SKIP() << root_.path() << " has no files of 4 TB: " << error.message();
  }
  const auto enough = [](std::int64_t) { throw usage_error("test", "enough"); };
  EXPECT_HAS(error_of([&] { find_damage(root_ / "c", manifest, 1, enough); }), "enough");
}

TEST_F(Tools, ComparisonOfEqualCheckpointsOfDifferentWriters) {
  test::write_small(root_ / "a", 1);
  const Manifest a = read_manifest(root_ / "a");
  const Manifest b = reshard(root_ / "a", a, root_ / "b", 5);
  const auto found = compare(root_ / "a", a, root_ / "b", b);
  ASSERT_EQ(found.size(), a.tensors.size());
  for (const TensorDifference& d : found) EXPECT_EQ(d.kind, Kind::identical) << d.name;
}

TEST_F(Tools, ComparisonByTensor) {
  const std::vector<StoredTensor> in_a = {{"same", DType::f32, {4}},  {"values", DType::f32, {2, 2}},
                                          {"signs", DType::f32, {2}}, {"nan", DType::f32, {3}},
                                          {"form", DType::f32, {6}},  {"a", DType::f32, {1}}};
  std::vector<StoredTensor> in_b = in_a;
  std::swap(in_b[0], in_b[3]);  // another order
  in_b[4].shape = {2, 3};
  in_b[5].name = "b";
  const test::Values a = {{"same", {1, 2, NAN, -0.0f}}, {"values", {1, 2, 3, 4}},     {"signs", {0.0f, 1}},
                          {"nan", {1, NAN, 3}},         {"form", {1, 2, 3, 4, 5, 6}}, {"a", {1}}};
  test::Values b = a;
  b["values"] = {1, 2.5f, 3, 0};
  b["signs"] = {-0.0f, 1};
  b["nan"] = {1, 2, 5};  // another difference behind that of the NaN
  b["b"] = {1};
  const RunState state = test::small_state(1);
  const Manifest of_a = test::write_values(root_ / "A", state, in_a, a, 2);
  const Manifest of_b = test::write_values(root_ / "B", state, in_b, b, 1);
  const auto found = compare(root_ / "A", of_a, root_ / "B", of_b);
  ASSERT_EQ(found.size(), 7u);
  std::map<std::string, TensorDifference> by_name;
  for (const TensorDifference& d : found) by_name[d.name] = d;
  EXPECT_EQ(by_name["same"].kind, Kind::identical);
  EXPECT_EQ(by_name["values"].kind, Kind::values);
  EXPECT_EQ(by_name["values"].elements, 2);
  EXPECT_EQ(by_name["values"].max_abs, 4);
  EXPECT_DOUBLE_EQ(by_name["values"].norm, std::sqrt(16.25));
  EXPECT_DOUBLE_EQ(by_name["values"].norm_b, std::sqrt(16.25));
  EXPECT_EQ(by_name["signs"].kind, Kind::values);
  EXPECT_EQ(by_name["signs"].max_abs, 0);
  EXPECT_TRUE(std::isnan(by_name["nan"].max_abs));
  EXPECT_EQ(by_name["form"].kind, Kind::form);
  EXPECT_EQ(by_name["a"].kind, Kind::only_a);
  EXPECT_EQ(by_name["b"].kind, Kind::only_b);
}

}  // namespace
}  // namespace octet::checkpoint

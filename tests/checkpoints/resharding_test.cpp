#include "checkpoints/restore/resharding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/checkpoints/virtual_ranks.h"

namespace octet::checkpoint::test {
namespace {

using Resharding = OneProcess;

/// Rows that few numbers of ranks divide; fewer rows than ranks; columns and rows that TP splits; a vector.
const std::vector<ModelTensor>& odd_tensors() {
  static const std::vector<ModelTensor> tensors = {
      {{"master/embedding", DType::f32, {1003, 8}}, -1}, {{"master/wq", DType::f32, {528, 16}}, 0},
      {{"master/wo", DType::f32, {130, 48}}, 1},         {{"master/norm", DType::f32, {100}}, -1},
      {{"first_moment/wo", DType::bf16, {130, 48}}, 1},  {{"scale", DType::i32, {1}}, -1},
      {{"experts", DType::e4m3, {16, 3, 8}}, 2},
  };
  return tensors;
}

std::int64_t elements_of(const std::vector<ModelTensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                         [](std::int64_t n, const ModelTensor& t) { return n + t.stored.shape.elements(); });
}

/// A checkpoint of one layout, loaded by the others; every rank, every element.
void expect_resharding(const VirtualLayout& from, const std::vector<VirtualLayout>& to) {
  const TemporaryDirectory directory;
  const std::string path = directory / directory_name(1);
  const Manifest manifest = save(path, from, odd_tensors());
  for (const VirtualLayout& layout : to) {
    SCOPED_TRACE(fmt::format("{}x{}x{} to {}x{}x{}", from.replicate, from.shard, from.tp, layout.replicate,
                             layout.shard, layout.tp));
    // Split tensors once a replica, the others once a TP rank too.
    std::int64_t expected = 0;
    for (const ModelTensor& t : odd_tensors()) {
      expected += t.stored.shape.elements() * layout.replicate * (t.tp_dimension < 0 ? layout.tp : 1);
    }
    EXPECT_EQ(expect_loads(path, manifest, layout, odd_tensors()), expected);
  }
}

TEST_F(Resharding, OneRankToAnyNumber) {
  expect_resharding({1, 1, 1}, {{1, 1, 1}, {1, 2, 1}, {1, 3, 1}, {1, 7, 1}, {1, 13, 2}});
}

TEST_F(Resharding, EightRanksToFewer) {
  expect_resharding({1, 8, 1}, {{1, 1, 1}, {1, 2, 1}, {1, 3, 1}, {1, 4, 1}, {1, 6, 1}, {2, 3, 1}});
}

TEST_F(Resharding, HybridTwoByThree) {
  expect_resharding({2, 3, 1}, {{1, 1, 1}, {1, 5, 1}, {3, 2, 1}, {1, 2, 2}});
}

TEST_F(Resharding, TensorParallelFourToEight) {
  expect_resharding({1, 2, 4}, {{1, 2, 8}, {1, 1, 8}, {1, 16, 1}});
}

TEST_F(Resharding, TensorParallelEightToFour) {
  expect_resharding({1, 1, 8}, {{1, 2, 4}, {1, 1, 1}, {2, 3, 2}});
}

TEST_F(Resharding, From128RanksTo512) {
  expect_resharding({1, 128, 1}, {{1, 512, 1}});
}

TEST_F(Resharding, From512RanksTo128) {
  expect_resharding({1, 512, 1}, {{1, 128, 1}, {1, 1, 1}});
}

TEST_F(Resharding, From512RanksWithTensorParallelAndReplicas) {
  expect_resharding({4, 32, 4}, {{2, 8, 8}});
}

TEST_F(Resharding, ColumnsOfMoreThanOneBuffer) {
  const std::vector<ModelTensor> wide = {{{"w", DType::f32, {1300, 4096}}, 1}};
  const TemporaryDirectory directory;
  const Manifest manifest = save(directory / "step-000001", {1, 1, 1}, wide);
  expect_loads(directory / "step-000001", manifest, {1, 1, 2}, wide);
}

TEST_F(Resharding, ReplicasAreWrittenOnce) {
  const TemporaryDirectory directory;
  const Manifest manifest = save(directory / "step-000001", {4, 2, 2}, odd_tensors());  // checks coverage
  std::int64_t elements = 0;
  for (const StoredPiece& piece : manifest.pieces) elements += piece.box.extent.elements();
  EXPECT_EQ(elements, elements_of(odd_tensors()));
  EXPECT_EQ(manifest.files.size(), 16u) << "every rank of every replica writes";
}

TEST_F(Resharding, PlanIsInTheOrderOfFilesAndFillsAll) {
  const TemporaryDirectory directory;
  const Manifest manifest = save(directory / "step-000001", {1, 5, 1}, odd_tensors());
  std::vector<WantedPiece> wanted;
  for (auto t = manifest.tensors.rbegin(); t != manifest.tensors.rend(); ++t) {
    wanted.push_back({t->name, whole(t->shape), nullptr, t->dtype, t->shape});
  }
  const auto steps = plan_reads(manifest, wanted);
  std::vector<std::int32_t> files;
  std::int64_t elements = 0;
  for (const ReadStep& step : steps) {
    files.push_back(manifest.pieces[static_cast<std::size_t>(step.piece)].file);
    EXPECT_EQ(step.in_piece.extent, step.in_wanted.extent);
    elements += step.in_piece.extent.elements();
  }
  EXPECT_TRUE(std::is_sorted(files.begin(), files.end()));
  EXPECT_EQ(elements, elements_of(odd_tensors()));
}

TEST_F(Resharding, WhatTheCheckpointHasNotIsRefused) {
  const TemporaryDirectory directory;
  Manifest manifest = save(directory / "step-000001", {1, 2, 1}, odd_tensors());
  const auto refusal = [&](const WantedPiece& wanted) { return error_of([&] { plan_reads(manifest, {&wanted, 1}); }); };
  const auto expect_refusal = [&](const WantedPiece& wanted, const std::string& part) {
    EXPECT_NE(refusal(wanted).find(part), std::string::npos) << refusal(wanted);
  };
  expect_refusal({"master/w", {{0}, {1}}}, "tensor master/w is not in the checkpoint, which has 7 tensors");
  expect_refusal({"master/norm", {{0}, {100}}, nullptr, DType::bf16}, "is f32 in the checkpoint, expected bf16");
  expect_refusal({"master/norm", {{0}, {100}}, nullptr, DType::f32, {101}}, "has shape [100] in the checkpoint");
  expect_refusal({"master/norm", {{1}, {100}}}, "not in its shape [100]");
  expect_refusal({"master/norm", {{0}, {0}}}, "empty");
  expect_refusal({"master/norm", {{0, 0}, {1, 1}}}, "not in its shape [100]");
  manifest.pieces.pop_back();
  const StoredTensor& last = manifest.tensors.back();
  expect_refusal({last.name, whole(last.shape), nullptr, last.dtype}, "elements of");
}

// ---- who writes

using Held = std::vector<std::vector<HeldPiece>>;

/// Every distinct piece once; returns the bytes of each rank.
std::vector<std::int64_t> expect_once(const Held& held) {
  const auto writes = assign_writers(held);
  EXPECT_EQ(writes, assign_writers(held)) << "the same on every rank";
  EXPECT_EQ(writes.size(), held.size());
  std::map<std::string, int> written, there;
  std::vector<std::int64_t> bytes(held.size());
  const auto key = [](const HeldPiece& p) { return fmt::format("{} {}", p.tensor, text(p.box)); };
  for (std::size_t rank = 0; rank < held.size(); ++rank) {
    for (const HeldPiece& p : held[rank]) {
      if (p.bytes > 0) there[key(p)] = 1;
    }
    for (const std::int32_t i : writes[rank]) {
      const HeldPiece& p = held[rank].at(static_cast<std::size_t>(i));
      ++written[key(p)];
      bytes[rank] += p.bytes;
    }
  }
  EXPECT_EQ(written, there);
  return bytes;
}

HeldPiece held_piece(std::int32_t tensor, std::int64_t offset, std::int64_t rows) {
  return {tensor, {{offset}, {rows}}, rows * 4};
}

TEST_F(Resharding, WritersOfReplicasAreBalanced) {
  Held held(6);
  for (std::size_t rank = 0; rank < held.size(); ++rank) {
    for (std::int32_t t = 0; t < 40; ++t) held[rank].push_back(held_piece(t, 0, 10 + t * 3 % 17));
  }
  const auto bytes = expect_once(held);
  const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
  EXPECT_LE(*most - *least, 26 * 4) << "more apart than the largest piece";
}

TEST_F(Resharding, WritersHaveWhatTheyWriteAndWhatOneAloneHasWeighs) {
  Held held(3);
  held[0] = {held_piece(0, 0, 100), held_piece(1, 0, 50), held_piece(2, 0, 50)};
  held[1] = {held_piece(2, 0, 50), held_piece(1, 0, 50)};
  held[2] = {held_piece(3, 7, 0)};  // nothing but an empty piece
  EXPECT_EQ(expect_once(held), (std::vector<std::int64_t>{400, 400, 0}));
}

TEST_F(Resharding, APieceTwiceOnOneRankIsWrittenOnce) {
  EXPECT_EQ(expect_once({{held_piece(0, 0, 4), held_piece(0, 0, 4)}}), (std::vector<std::int64_t>{16}));
}

TEST_F(Resharding, CopiesOfDifferentSizeAreABug) {
  Held held = {{held_piece(0, 0, 4)}, {held_piece(0, 0, 4)}};
  held[1][0].bytes = 8;
  EXPECT_THROW(assign_writers(held), Error);
}

}  // namespace
}  // namespace octet::checkpoint::test

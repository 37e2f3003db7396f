#include "checkpoints/format/shard_file.h"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "checkpoints/format/hash.h"
#include "tests/checkpoints/file_size_limit.h"
#include "tests/checkpoints/open_events.h"
#include "tests/checkpoints/read_hook.h"
#include "tests/checkpoints/virtual_ranks.h"

namespace octet::checkpoint::test {
namespace {

using ShardFile = OneProcess;

constexpr DType all_dtypes[] = {DType::f32, DType::bf16, DType::e4m3, DType::e5m2, DType::i32, DType::u8};

/// A file of one piece of each dtype: rows 2 to 5 of a tensor of 9 by 7.
struct Sample {
  TemporaryDirectory directory;
  std::string path = directory / file_name(0);
  std::vector<PieceData> pieces;
  std::vector<std::vector<char>> data;
  StoredFile file;

  Sample() {
    for (const DType dtype : all_dtypes) {
      const StoredTensor tensor{"master/" + std::string(name_of(dtype)), dtype, {9, 7}};
      const Box box{{2, 0}, {4, 7}};
      data.push_back(content_of(static_cast<int>(dtype), tensor, box));
      pieces.push_back({tensor, box, data.back().data()});
    }
    file = write_shard_file(path, some_state(), pieces);
  }
  StoredPiece stored(std::size_t i) const { return {0, 0, pieces[i].box}; }
};

void expect_in(const std::string& part, const std::string& all) {
  EXPECT_NE(all.find(part), std::string::npos) << "expected \"" << part << "\" in: " << all;
}

/// HDF5 1.10 does not free what it has allocated for a piece of metadata whose read fails. (Before, it gives back what
/// it keeps for later, so that what it takes is allocated here.)
struct LeaksOfHdf5 {
#ifdef __SANITIZE_ADDRESS__
  herr_t emptied = H5garbage_collect();
  __lsan::ScopedDisabler disabler;
#endif
};

/// Wherever in the file it happens: a usage error would end a job that could go on. (Without some reads HDF5 does.)
TEST_F(ShardFile, AReadThatFailsIsTheFileSystemsFault) {
  const Sample sample;
  [[maybe_unused]] const LeaksOfHdf5 are_not_looked_for;
  int before_it = 0;  // reads that succeed
  for (bool whole_way = false; !whole_way; ++before_it) {
    ASSERT_LT(before_it, 1000);
    int left = before_it;
    const ReadHook hook([&] { return left-- == 0 ? EIO : 0; });
    try {
      const ShardReader reader(sample.path);
      reader.expect_state(some_state());
      for (std::size_t i = 0; i < sample.pieces.size(); ++i) {
        std::vector<char> found(sample.data[i].size());
        reader.read(sample.stored(i), sample.pieces[i].tensor, whole(sample.pieces[i].box.extent), found.data());
        EXPECT_EQ(found, sample.data[i]) << "read " << before_it;
      }
      whole_way = left >= 0;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::internal) << "read " << before_it << ": " << error.what();
    }
  }
  EXPECT_GT(before_it, 10);
}

/// A file system may take a millisecond for each opening, of which a load has many.
TEST_F(ShardFile, AReaderOpensItOnce) {
  const Sample sample;
  OpenEvents events(sample.path);
  const ShardReader reader(sample.path);
  EXPECT_EQ(events.take(), "o");
}

TEST_F(ShardFile, RoundTripOfEveryDtypeAndItsParts) {
  const Sample sample;
  const ShardReader reader(sample.path);
  for (std::size_t i = 0; i < sample.pieces.size(); ++i) {
    const PieceData& piece = sample.pieces[i];
    std::vector<char> found(sample.data[i].size());
    reader.read(sample.stored(i), piece.tensor, whole(piece.box.extent), found.data());
    EXPECT_EQ(found, sample.data[i]) << piece.tensor.name;
    for (const Box& part : {Box{{0, 0}, {1, 7}}, Box{{3, 6}, {1, 1}}, Box{{1, 2}, {3, 4}}}) {
      Box global = part;
      global.offset[0] += 2;
      const auto expected = content_of(static_cast<int>(piece.tensor.dtype), piece.tensor, global);
      found.assign(expected.size(), '\0');
      reader.read(sample.stored(i), piece.tensor, part, found.data());
      EXPECT_EQ(found, expected) << piece.tensor.name << " " << text(part);
    }
  }
}

TEST_F(ShardFile, OneToFourDimensions) {
  const TemporaryDirectory directory;
  const std::vector<StoredTensor> tensors = {
      {"one", DType::f32, {11}}, {"three", DType::bf16, {3, 4, 5}}, {"four", DType::u8, {2, 3, 4, 5}}};
  const std::vector<Box> parts = {{{3}, {5}}, {{1, 1, 2}, {2, 2, 3}}, {{1, 0, 2, 1}, {1, 3, 2, 4}}};
  std::vector<PieceData> pieces;
  std::vector<std::vector<char>> data;
  for (const StoredTensor& tensor : tensors) {
    data.push_back(content_of(1, tensor, whole(tensor.shape)));
    pieces.push_back({tensor, whole(tensor.shape), data.back().data()});
  }
  write_shard_file(directory / "x.h5", some_state(), pieces);
  const ShardReader reader(directory / "x.h5");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto expected = content_of(1, tensors[i], parts[i]);
    std::vector<char> found(expected.size());
    reader.read({0, 0, pieces[i].box}, tensors[i], parts[i], found.data());
    EXPECT_EQ(found, expected) << tensors[i].name;
  }
}

TEST_F(ShardFile, SizeAndHashAreOfTheFile) {
  const Sample sample;
  const std::string bytes = test::content_of(sample.path);
  EXPECT_EQ(sample.file.name, file_name(0));
  EXPECT_EQ(sample.file.bytes, static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(sample.file.hash, hash_of(bytes));
  std::int64_t reported = 0;
  EXPECT_EQ(hash_file(sample.path, [&](std::int64_t n) { reported += n; }), sample.file);
  EXPECT_EQ(reported, sample.file.bytes);
}

TEST_F(ShardFile, SameContentSameBytes) {
  Sample sample;
  const StoredFile again = write_shard_file(sample.directory / "again.h5", some_state(), sample.pieces);
  EXPECT_EQ(again.hash, sample.file.hash);
  const StoredFile other = write_shard_file(sample.directory / "other.h5", some_state(13), sample.pieces);
  EXPECT_NE(other.hash, sample.file.hash);
}

TEST_F(ShardFile, EmptyAndLargeTexts) {
  const TemporaryDirectory directory;
  RunState state = some_state();
  state.layout.clear();
  double read_back_seconds = 0;
  const auto small = write_shard_file(directory / "small.h5", state, {}, &read_back_seconds);
  EXPECT_GT(read_back_seconds, 0);
  state.config = std::string(300000, 'x');  // beyond what an object header holds
  const auto large = write_shard_file(directory / "large.h5", state, {});
  EXPECT_GT(large.bytes, small.bytes + 290000);
  EXPECT_NO_THROW(ShardReader(directory / "large.h5"));
}

TEST_F(ShardFile, WhatIsNotAsTheManifestSaysIsRefused) {
  const Sample sample;
  const ShardReader reader(sample.path);
  std::vector<char> to(1000);
  const auto refusal = [&](const StoredPiece& piece, DType dtype, const Box& from, const char* name = nullptr) {
    StoredTensor tensor = sample.pieces[0].tensor;
    tensor.dtype = dtype;
    tensor.name = name != nullptr ? name : tensor.name;
    std::string message = error_of([&] { reader.read(piece, tensor, from, to.data()); });
    expect_in(sample.path, message);
    return message;
  };
  const Box all = whole({4, 7});
  StoredPiece piece = sample.stored(0);
  expect_in("f32 of 4 bytes, the manifest says i32", refusal(piece, DType::i32, all));
  expect_in("e4m3 of 1 bytes, the manifest says e5m2", refusal(sample.stored(2), DType::e5m2, all, "master/e4m3"));
  expect_in("[1, 0] + [4, 7] was asked for", refusal(piece, DType::f32, {{1, 0}, {4, 7}}));
  expect_in("was asked for", refusal(piece, DType::f32, {{0, 0}, {0, 7}}));
  piece.box.offset[0] = 3;
  expect_in("no dataset master/f32/@3,0", refusal(piece, DType::f32, all));
  piece.box = {{2, 0}, {4, 6}};
  expect_in("the manifest says [2, 0] + [4, 6]", refusal(piece, DType::f32, all));
  expect_in("no dataset master/other/@2,0", refusal(piece, DType::f32, all, "master/other"));
}

TEST_F(ShardFile, WhatIsNoShardIsRefused) {
  const TemporaryDirectory directory;
  put_file(directory / "text.h5", "this is no HDF5 file");
  expect_in(directory / "text.h5", error_of([&] { ShardReader reader(directory / "text.h5"); }));
  expect_in(directory / "none.h5", error_of([&] { ShardReader reader(directory / "none.h5"); }));
  expect_in("No such file", error_of([&] { hash_file(directory / "none.h5"); }));
}

TEST_F(ShardFile, TheHashIsOfTheOpenFile) {
  const TemporaryDirectory directory;
  put_file(directory / "x", "what was opened");
  const files::InputFile open(directory / "x");
  std::filesystem::rename(directory / "x", directory / "y");
  put_file(directory / "x", "what came later");
  EXPECT_EQ(hash_file(open, "x").hash, hash_of("what was opened"));
  EXPECT_EQ(open.size(), 15);
}

/// By a second run in the same directory, for one.
TEST_F(ShardFile, AFileThatIsReplacedWhileItIsWrittenIsNoShard) {
  const Sample sample;
  for (const bool by_another : {true, false}) {
    const TemporaryDirectory directory;
    std::vector<PieceData> pieces = sample.pieces;
    pieces.back().data = nullptr;
    pieces.back().load = [&]() -> const void* {
      std::filesystem::rename(directory / "x.h5", directory / "gone.h5");
      if (by_another) std::filesystem::copy_file(sample.path, directory / "x.h5");
      return sample.pieces.back().data;
    };
    expect_in((directory / "x.h5") + ": was removed or replaced by somebody else",
              error_of([&] { write_shard_file(directory / "x.h5", some_state(), pieces); }, ExitCode::internal));
  }
}

TEST_F(ShardFile, WrongPiecesAreNotWritten) {
  const TemporaryDirectory directory;
  const std::vector<float> data(100);
  int n = 0;
  const auto refusal = [&](const PieceData& piece) {
    const std::string path = directory / std::to_string(n++);
    return error_of([&] { write_shard_file(path, some_state(), {&piece, 1}); }, ExitCode::internal);
  };
  expect_in("is empty or not in its shape", refusal({{"a", DType::f32, {5, 5}}, {{5, 0}, {0, 5}}, data.data()}));
  expect_in("is empty or not in its shape", refusal({{"a", DType::f32, {5, 5}}, {{1, 0}, {5, 5}}, data.data()}));
  expect_in("bad tensor name", refusal({{"a/../b", DType::f32, {5}}, {{0}, {5}}, data.data()}));
  expect_in("no data", refusal({{"a", DType::f32, {5}}, {{0}, {5}}, nullptr}));
}

TEST_F(ShardFile, AFileInTheWayStays) {
  const TemporaryDirectory directory;
  put_file(directory / "x.h5", "mine");
  const auto write = [&](const std::string& path) {
    return error_of([&] { write_shard_file(path, some_state(), {}); }, ExitCode::internal);
  };
  expect_in((directory / "x.h5") + ": cannot be created: File exists", write(directory / "x.h5"));
  EXPECT_EQ(test::content_of(directory / "x.h5"), "mine");
  expect_in("No such file or directory", write(directory / "no/x.h5"));
}

// HDF5 by itself would take the process down here, at the latest at its exit.
TEST_F(ShardFile, FullDiskAtEveryPointIsAnErrorAndNoMore) {
  Sample sample;
  for (rlim_t limit = 0; limit < static_cast<rlim_t>(sample.file.bytes); limit += 97) {
    const std::string path = sample.directory / ("limit-" + std::to_string(limit));
    std::string message;
    {
      const FileSizeLimit limited(limit);
      message = error_of([&] { write_shard_file(path, some_state(), sample.pieces); }, ExitCode::internal);
    }
    ASSERT_NE(message.find(path + ": cannot be written: File too large"), std::string::npos)
        << "limit " << limit << ": " << message;
    std::filesystem::remove(path);
  }
  const StoredFile after = write_shard_file(sample.directory / "after.h5", some_state(), sample.pieces);
  EXPECT_EQ(after.hash, sample.file.hash);
}

}  // namespace
}  // namespace octet::checkpoint::test

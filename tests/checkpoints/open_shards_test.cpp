// A large model is read unit by unit, each out of all files, which are not opened each time.
#include "checkpoints/restore/open_shards.h"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>

#include <cerrno>

#include "checkpoints/restore/file_parts.h"
#include "checkpoints/restore/resharding.h"
#include "tests/checkpoints/open_events.h"
#include "tests/checkpoints/read_hook.h"
#include "tests/checkpoints/virtual_ranks.h"

namespace octet::checkpoint::test {
namespace {

/// A checkpoint of three files.
class OpenShardsTest : public OneProcess {
 protected:
  std::string path(int file) const { return directory_ + "/" + file_name(file); }
  /// What becomes of a file while all are read in turn, three times.
  std::string events_of(int file, OpenShards& shards) const {
    OpenEvents events(path(file));
    for (int pass = 0; pass < 3; ++pass) {
      for (int i = 0; i < 3; ++i) shards.open(path(i)).expect_state(manifest_.state);
    }
    return events.take();
  }

  TemporaryDirectory folder_;
  std::string directory_ = folder_ / "c";
  std::vector<ModelTensor> model_{{{"master/a", DType::f32, {9, 5}}}, {{"master/b", DType::f32, {6, 4}}}};
  Manifest manifest_ = save(directory_, {.shard = 3}, model_);
};

TEST_F(OpenShardsTest, EachIsOpenedOnce) {
  OpenShards shards(3);
  for (int file = 0; file < 3; ++file) EXPECT_EQ(events_of(file, shards), file == 0 ? "o" : "") << "open by then";
}

TEST_F(OpenShardsTest, TheFirstStayOpenWhereThereAreMore) {
  OpenShards shards(2);
  OpenEvents first(path(0)), second(path(1));
  EXPECT_EQ(events_of(2, shards), "o") << "the only one of those that do not stay";
  EXPECT_EQ(first.take() + second.take(), "oo");
  OpenShards none(0);
  EXPECT_EQ(events_of(1, none), "ocococ") << "open until another is asked for";
}

TEST_F(OpenShardsTest, TheLimitIsThatOfTheProcess) {
  OpenShards one(1);
  one.open(path(0));
  OpenShards other(1);
  EXPECT_EQ(events_of(1, other), "ocococ");
  OpenShards moved = std::move(one);
  EXPECT_EQ(events_of(0, moved), "") << "it is still open";
  EXPECT_EQ(events_of(1, other), "ocococ") << "and counts once";
  moved.close_all();
  EXPECT_EQ(events_of(0, other), "o");
}

TEST_F(OpenShardsTest, WhatWasClosedIsOpenedAgain) {
  for (const std::size_t most : {0, 1}) {
    OpenShards shards(most);
    OpenEvents events(path(0));
    shards.open(path(0));
    shards.close_all();
    shards.close_all();
    shards.open(path(0));
    EXPECT_EQ(events.take(), "oco");
  }
}

/// After an eviction from a server all that were open are stale, and there are only four tries.
TEST_F(OpenShardsTest, AFailedReadClosesThemAll) {
  std::vector<float> read(45);
  const std::vector<WantedPiece> wanted{{.tensor = "master/a", .box = {{0, 0}, {9, 5}}, .data = read.data()}};
  OpenShards shards(3);
  files::ReadProgress progress;
  OpenEvents first(path(0)), last(path(2));
  read_pieces(directory_, manifest_, wanted, shards, progress);
  EXPECT_EQ(first.take() + last.take(), "oo");
  {
    const ReadHook hook([] { return ESTALE; });
    EXPECT_THROW(read_pieces(directory_, manifest_, wanted, shards, progress), files::ReadError);
  }
  EXPECT_EQ(first.take() + last.take(), "cc");
  read_pieces(directory_, manifest_, wanted, shards, progress);
  EXPECT_EQ(first.take() + last.take(), "oo");
}

/// The metadata of each dataset are looked at once. Of a large run hundreds of files are open.
TEST_F(OpenShardsTest, LittleStaysOfTheMetadataOfAFile) {
  std::vector<ModelTensor> model;
  for (int layer = 0; layer < 400; ++layer) {
    model.push_back({{fmt::format("master/layers.{}.weight", layer), DType::f32, {2, 2}}});
  }
  const std::string directory = folder_ / "many";
  const Manifest manifest = save(directory, {.shard = 1}, model);
  OpenShards shards(1);
  const ShardReader& reader = shards.open(directory + "/" + file_name(0));
  for (const StoredPiece& piece : manifest.pieces) {
    float read[4];
    reader.read(piece, manifest.tensors[static_cast<std::size_t>(piece.tensor)], {{0, 0}, piece.box.extent}, read);
  }
  hid_t file = -1;
  ASSERT_EQ(H5Fget_obj_ids(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_FILE, 1, &file), 1);
  std::size_t bytes = 0;
  int entries = 0;
  ASSERT_GE(H5Fget_mdc_size(file, nullptr, nullptr, &bytes, &entries), 0);
  EXPECT_LE(bytes, std::size_t{32} << 10);
  EXPECT_LT(entries, 400) << "those of a dataset go with it";
}

/// Nothing is left of what could not be opened.
TEST_F(OpenShardsTest, OneThatIsNotThereMayComeLater) {
  for (const std::size_t most : {0, 1}) {
    OpenShards shards(most);
    std::filesystem::rename(path(0), path(7));
    EXPECT_THROW(shards.open(path(0)), files::ReadError);
    std::filesystem::rename(path(7), path(0));
    EXPECT_NO_THROW(shards.open(path(0)).expect_state(manifest_.state));
  }
}

TEST_F(OpenShardsTest, WhereFewFilesMayBeOpenNoneStays) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{256, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  OpenShards shards;  // which raises the limit where it may
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(events_of(0, shards), now.rlim_cur > 256 ? "o" : "ocococ");
}

TEST_F(OpenShardsTest, APartReaderOpensAFileOnceForAllBatches) {
  std::vector<Part> parts;
  for (const int tensor : {0, 1, 0, 1}) {
    const auto more = row_parts(manifest_.tensors[static_cast<std::size_t>(tensor)], tensor, 20);
    parts.insert(parts.end(), more.begin(), more.end());
  }
  OpenEvents events(path(1));
  {
    PartReader reader(directory_, manifest_, parts, 20);  // a row at a time
    for (std::size_t i = 0; i < parts.size(); ++i) reader.next();
    EXPECT_EQ(events.take(), "o");
  }
  EXPECT_EQ(events.take(), "c");
}

}  // namespace
}  // namespace octet::checkpoint::test

// Datasets that say all that the manifest says, but whose data are not bytes of the file that was hashed.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "checkpoints/format/hash.h"
#include "checkpoints/format/hdf5_support.h"
#include "checkpoints/format/shard_file.h"
#include "checkpoints/restore/verification.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"
#include "tests/support/expect_has.h"

namespace octet::checkpoint {
namespace {

class Storage : public testing::Test {
 protected:
  Storage() {
    test::write_small(directory_, 1);
    manifest_ = read_manifest(directory_);
    data_.resize(static_cast<std::size_t>(piece().box.extent.elements()));
  }

  const StoredPiece& piece() const { return manifest_.pieces[0]; }
  const StoredTensor& tensor() const { return manifest_.tensors[static_cast<std::size_t>(piece().tensor)]; }
  std::string name() const { return dataset_name(tensor().name, piece().box); }
  std::string path() const { return directory_ + "/" + manifest_.files[0].name; }
  std::string beside() const { return root_ / "beside.h5"; }

  /// Changes the first file, and lets the manifest promise it as it is then.
  void change(const std::function<void(hid_t file)>& work) {
    {
      const Hdf5File file(H5Fopen(path().c_str(), H5F_ACC_RDWR, hdf5::file_access(path()).get()));
      work(file.get());
    }
    manifest_.files[0] = hash_file(path());
  }

  /// Puts a dataset of another storage in place of the first one, with all its attributes.
  void store(const std::function<void(hid_t creation)>& how, bool with_data = true) {
    std::filesystem::copy_file(path(), beside());
    read_first();
    change([&](hid_t file) {
      ASSERT_GE(H5Lmove(file, name().c_str(), file, "before", H5P_DEFAULT, H5P_DEFAULT), 0);
      const Hdf5Properties creation(H5Pcreate(H5P_DATASET_CREATE));
      how(creation.get());
      const Hdf5Dataset before(H5Dopen2(file, "before", H5P_DEFAULT));
      const Hdf5Space space = hdf5::space_of(piece().box.extent, path());
      const Hdf5Dataset made(
          H5Dcreate2(file, name().c_str(), H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
      ASSERT_TRUE(made) << hdf5::reason();
      for (const char* text : {"tensor", "dtype", "xxh3_128"}) {
        hdf5::write_attribute(made.get(), text, hdf5::read_text(before.get(), text, path()), path());
      }
      for (const char* numbers : {"global_shape", "offset"}) {
        hdf5::write_attribute(made.get(), numbers, hdf5::read_integers(before.get(), numbers, path()), path());
      }
      if (with_data) {
        ASSERT_GE(H5Dwrite(made.get(), H5T_IEEE_F32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data_.data()), 0);
      }
    });
  }
  void read_first() { ShardReader(path()).read(piece(), tensor(), {{}, piece().box.extent}, data_.data()); }

  /// By who restores and by who verifies.
  void expect_refused(const std::string& reason) {
    const std::string expected = path() + ": dataset " + name() + reason;
    EXPECT_HAS(test::error_of([&] { read_first(); }), expected);
    EXPECT_HAS(test::error_of([&] { ShardReader(path()).locate(piece(), tensor()); }), expected);
    WantedPiece wanted{tensor().name, piece().box, data_.data(), tensor().dtype, tensor().shape};
    EXPECT_HAS(test::error_of([&] { read_pieces(directory_, manifest_, {&wanted, 1}); }), expected);
    const std::vector<Damage> damage = find_damage(directory_, manifest_, 1);
    ASSERT_EQ(damage.size(), 1u);
    EXPECT_HAS(damage[0].what, expected);
  }

  test::TemporaryDirectory root_;
  const std::string directory_ = root_ / "c";
  Manifest manifest_;
  std::vector<float> data_;
};

TEST_F(Storage, ContiguousDataOfTheFileAreRead) {
  store([](hid_t creation) { H5Pset_layout(creation, H5D_CONTIGUOUS); });
  const std::vector<float> expected = std::exchange(data_, std::vector<float>(data_.size()));
  ASSERT_NE(data_, expected);
  read_first();
  EXPECT_TRUE(octet::test::same_bits(data_, expected));
  EXPECT_TRUE(find_damage(directory_, manifest_, 1).empty());
}

TEST_F(Storage, ExternalFilesAreRefused) {
  test::put_file(root_ / "secret", std::string(1 << 20, '\1'));
  store([&](hid_t creation) { H5Pset_external(creation, (root_ / "secret").c_str(), 0, H5F_UNLIMITED); });
  expect_refused(" is stored in external files, expected contiguous data in this file");
}

TEST_F(Storage, VirtualDatasetsAreRefused) {
  const auto from_beside = [&](hid_t creation) {
    const Hdf5Space space = hdf5::space_of(piece().box.extent, path());
    ASSERT_GE(H5Pset_virtual(creation, space.get(), beside().c_str(), name().c_str(), space.get()), 0);
  };
  store(from_beside, false);
  expect_refused(" is virtual, put together from other datasets, expected contiguous data in this file");
}

TEST_F(Storage, ChunksAreRefused) {
  store([&](hid_t creation) {
    const auto chunk = hdf5::sizes(piece().box.extent.list());
    H5Pset_chunk(creation, piece().box.extent.rank(), chunk.data());
    H5Pset_fletcher32(creation);
  });
  expect_refused(" is chunked, expected");
}

TEST_F(Storage, CompactDataAreRefused) {
  store([](hid_t creation) { H5Pset_layout(creation, H5D_COMPACT); });
  expect_refused(" is compact, expected");
}

/// HDF5 would give fill values.
TEST_F(Storage, DataThatWereNeverWrittenAreRefused) {
  store([](hid_t) {}, false);
  expect_refused(" is without data, expected");
}

TEST_F(Storage, SoftLinksAreRefused) {
  change([&](hid_t file) {
    ASSERT_GE(H5Lmove(file, name().c_str(), file, "before", H5P_DEFAULT, H5P_DEFAULT), 0);
    ASSERT_GE(H5Lcreate_soft("/before", file, name().c_str(), H5P_DEFAULT, H5P_DEFAULT), 0);
  });
  expect_refused(": " + name() + " is a soft link, expected the dataset itself");
}

TEST_F(Storage, ExternalLinksAreRefused) {
  std::filesystem::copy_file(path(), beside());
  change([&](hid_t file) {
    ASSERT_GE(H5Ldelete(file, name().c_str(), H5P_DEFAULT), 0);
    ASSERT_GE(H5Lcreate_external(beside().c_str(), name().c_str(), file, name().c_str(), H5P_DEFAULT, H5P_DEFAULT), 0);
  });
  expect_refused(": " + name() + " is an external link, expected the dataset itself");
}

TEST_F(Storage, LinksOnTheWayAreRefused) {
  std::filesystem::copy_file(path(), beside());
  const std::string group = tensor().name;
  change([&](hid_t file) {
    ASSERT_GE(H5Ldelete(file, group.c_str(), H5P_DEFAULT), 0);
    ASSERT_GE(H5Lcreate_external(beside().c_str(), group.c_str(), file, group.c_str(), H5P_DEFAULT, H5P_DEFAULT), 0);
  });
  const std::string expected = path() + ": dataset " + name() + ": " + group + " is an external link";
  EXPECT_HAS(test::error_of([&] { read_first(); }), expected);
  EXPECT_HAS(find_damage(directory_, manifest_, 1).at(0).what, expected);
}

}  // namespace
}  // namespace octet::checkpoint

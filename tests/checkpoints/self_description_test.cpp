// What `octet checkpoint verify` sees in files that have the size and hash that the manifest promises.
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoints/format/hash.h"
#include "checkpoints/format/hdf5_support.h"
#include "checkpoints/format/shard_file.h"
#include "checkpoints/format/unknown_format.h"
#include "checkpoints/restore/verification.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"
#include "tests/support/expect_has.h"

namespace octet::checkpoint {
namespace {

class SelfDescription : public testing::Test {
 protected:
  SelfDescription() {
    test::write_small(directory_, 1);
    manifest_ = read_manifest(directory_);
  }

  /// The one thing that is wrong with the first file.
  std::string damage_in_first() const {
    const auto damage = find_damage(directory_, manifest_, 2);
    if (damage.size() != 1) return fmt::format("{} damages", damage.size());
    EXPECT_EQ(damage[0].file, manifest_.files[0].name);
    EXPECT_EQ(damage[0].code, ExitCode::usage);
    return damage[0].what;
  }

  std::string first_file() const { return directory_ + "/" + manifest_.files[0].name; }
  const StoredPiece& piece(std::size_t i = 0) const { return manifest_.pieces[i]; }
  const StoredTensor& tensor(std::size_t i = 0) const {
    return manifest_.tensors[static_cast<std::size_t>(piece(i).tensor)];
  }
  std::string dataset(std::size_t i = 0) const { return dataset_name(tensor(i).name, piece(i).box); }

  /// Gives a dataset of the first file another name.
  void move(const std::string& from, const std::string& to) const {
    const Hdf5File file(H5Fopen(first_file().c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const Hdf5Properties links(H5Pcreate(H5P_LINK_CREATE));
    ASSERT_GE(H5Pset_create_intermediate_group(links.get(), 1), 0);
    ASSERT_GE(H5Lmove(file.get(), from.c_str(), file.get(), to.c_str(), links.get(), H5P_DEFAULT), 0);
  }

  /// Lets the manifest promise the first file as it is now.
  void accept_first_file() { manifest_.files[0] = hash_file(first_file()); }

  /// Each file says otherwise.
  void expect_told_by_every_file(const std::string& attribute) const {
    const auto damage = find_damage(directory_, manifest_, 2);
    ASSERT_EQ(damage.size(), manifest_.files.size()) << attribute;
    for (std::size_t i = 0; i < damage.size(); ++i) {
      EXPECT_EQ(damage[i].file, manifest_.files[i].name);
      EXPECT_HAS(damage[i].what, "attribute " + attribute + " is ");
    }
  }

  test::TemporaryDirectory root_;
  const std::string directory_ = root_ / "c";
  Manifest manifest_;
};

/// As a bit would leave it that flipped between the caller's memory and the file, whose hash is taken after that.
TEST_F(SelfDescription, DataHaveTheHashThatTheirDatasetCarries) {
  const StoredData data = ShardReader(first_file()).locate(piece(), tensor());
  test::flip_bit(first_file(), data.offset + data.bytes - 1);
  accept_first_file();
  const std::string what = damage_in_first();
  EXPECT_HAS(what, "dataset " + dataset() + ": data of hash ");
  EXPECT_HAS(what, "says " + data.hash);
}

TEST_F(SelfDescription, EveryDatasetIsNamed) {
  const ShardReader reader(first_file());
  std::size_t in_first = 0;
  for (const StoredPiece& p : manifest_.pieces) {
    if (p.file != 0) continue;
    const StoredData data = reader.locate(p, manifest_.tensors[static_cast<std::size_t>(p.tensor)]);
    test::flip_bit(first_file(), data.offset);
    ++in_first;
  }
  accept_first_file();
  EXPECT_EQ(find_damage(directory_, manifest_, 1).size(), in_first);
}

TEST_F(SelfDescription, ADatasetWithoutItsHash) {
  {
    const Hdf5File file(H5Fopen(first_file().c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    ASSERT_GE(H5Adelete_by_name(file.get(), dataset().c_str(), "xxh3_128", H5P_DEFAULT), 0);
  }
  accept_first_file();
  EXPECT_HAS(damage_in_first(), "dataset " + dataset() + ": has no attribute xxh3_128");
}

/// Such a file may hold anything under names that are known.
TEST_F(SelfDescription, AFileOfANewerVersionIsNotRead) {
  {
    const Hdf5File file(H5Fopen(first_file().c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const Hdf5Attribute version(H5Aopen(file.get(), "version", H5P_DEFAULT));
    const std::int64_t newer = 3;
    ASSERT_GE(H5Awrite(version.get(), H5T_NATIVE_INT64, &newer), 0);
  }
  accept_first_file();
  EXPECT_HAS(damage_in_first(), ": of version 3, which this program does not know");
  EXPECT_THROW(ShardReader{first_file()}, UnknownFormat);
}

TEST_F(SelfDescription, AnotherDatasetThanTheManifestSays) {
  ASSERT_EQ(piece(1).file, 0);
  move(dataset(0), "first");
  move(dataset(1), dataset(0));
  move("first", dataset(1));
  accept_first_file();
  EXPECT_HAS(damage_in_first(), "the manifest says");
}

TEST_F(SelfDescription, TheTensorOfAPiece) {
  StoredTensor& tensor = manifest_.tensors[static_cast<std::size_t>(piece().tensor)];
  const StoredTensor before = tensor;
  const std::string name_before = dataset();
  tensor.name = "another";
  move(name_before, dataset());
  accept_first_file();
  auto damage = find_damage(directory_, manifest_, 2);
  ASSERT_FALSE(damage.empty());
  EXPECT_HAS(damage[0].what, fmt::format("attribute tensor is \"{}\", the manifest says \"another\"", before.name));
  move(dataset(), name_before);
  tensor = before;
  accept_first_file();
  tensor.shape = {46, 20};
  damage = find_damage(directory_, manifest_, 2);
  ASSERT_FALSE(damage.empty());
  EXPECT_HAS(damage[0].what, "attribute global_shape is [");
  EXPECT_HAS(damage[0].what, "says [46, 20]");
}

TEST_F(SelfDescription, TheRunOfAFile) {
  const RunState before = manifest_.state;
  const auto expect_told = [&](const char* attribute, auto RunState::*field, auto value) {
    manifest_.state.*field = value;
    expect_told_by_every_file(attribute);
    manifest_.state = before;
  };
  expect_told("step", &RunState::step, std::int64_t{2});
  expect_told("seed", &RunState::seed, before.seed ^ std::uint64_t{1} << 63);
  expect_told("data_fingerprint", &RunState::data_fingerprint, before.data_fingerprint + 1);
  expect_told("loss", &RunState::loss, 1.5);
  expect_told("loss", &RunState::loss, std::nan(""));
  expect_told("config", &RunState::config, before.config + "x: 1\n");
  expect_told("layout", &RunState::layout, std::string());
  expect_told("program", &RunState::program, std::string("octet 9"));
  EXPECT_TRUE(find_damage(directory_, manifest_, 2).empty());
}

TEST_F(SelfDescription, AttributesOfAnotherType) {
  const auto put_text = [&](const std::string& object, const char* name) {
    const Hdf5File file(H5Fopen(first_file().c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const Hdf5Handle<H5Oclose> opened(H5Oopen(file.get(), object.c_str(), H5P_DEFAULT));
    ASSERT_GE(H5Adelete(opened.get(), name), 0);
    hdf5::write_attribute(opened.get(), name, "1", first_file());
  };
  const auto expect_state = [&] { ShardReader(first_file()).expect_state(manifest_.state); };
  put_text(dataset(), "offset");
  EXPECT_HAS(test::error_of([&] { ShardReader(first_file()).locate(piece(), tensor()); }),
             "attribute offset is of another type, expected integers");
  put_text("/", "loss");
  EXPECT_HAS(test::error_of(expect_state), "attribute loss is of another type, expected a floating-point number");
  put_text("/", "step");
  EXPECT_HAS(test::error_of(expect_state), "attribute step is of another type, expected an integer");
  accept_first_file();
  EXPECT_EQ(find_damage(directory_, manifest_, 2).front().code, ExitCode::usage);
}

/// Who uses some of the tensors has the bytes of all files compared, and of the others no data once more.
TEST_F(SelfDescription, OfTensorsThatAreUsedAlone) {
  const auto masters = [](const StoredTensor& t) { return parameter_of(TensorKind::master, t.name).has_value(); };
  std::int64_t read = 0;
  const auto damage_of_masters = [&] {
    read = 0;
    return find_damage(
        directory_, manifest_, 2, [&](std::int64_t bytes) { read += bytes; }, masters);
  };
  EXPECT_TRUE(damage_of_masters().empty());
  EXPECT_EQ(read, bytes_to_verify(manifest_, masters));
  const std::int64_t tensors = bytes_of(manifest_.tensors);
  EXPECT_EQ(bytes_to_verify(manifest_) - read, tensors / 3 * 2) << "all but the two moments";

  const auto change = [&](const auto& is_wanted) {
    for (std::size_t i = 0; i < manifest_.pieces.size(); ++i) {
      if (piece(i).file != 0 || is_wanted(tensor(i)) == false) continue;
      const Hdf5File file(H5Fopen(first_file().c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
      const Hdf5Dataset data(H5Dopen2(file.get(), dataset(i).c_str(), H5P_DEFAULT));
      const std::vector<float> zeros(static_cast<std::size_t>(piece(i).box.extent.elements()));
      ASSERT_GE(H5Dwrite(data.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data()), 0);
      return;
    }
    ADD_FAILURE() << "no such piece";
  };
  change([&](const StoredTensor& t) { return !masters(t); });
  EXPECT_EQ(damage_of_masters().size(), 1u) << "the file has another hash";
  accept_first_file();
  EXPECT_TRUE(damage_of_masters().empty());
  EXPECT_EQ(find_damage(directory_, manifest_, 2).size(), 1u);
  change(masters);
  accept_first_file();
  EXPECT_EQ(damage_of_masters().size(), 1u);
}

/// For which a manifest has null alone.
TEST_F(SelfDescription, ALossThatIsNotFiniteFits) {
  RunState state = test::small_state(3);
  state.loss = -INFINITY;
  const auto tensors = training_tensors(test::small_model());
  test::write_values(root_ / "d", state, tensors, test::values_of(tensors), 2);
  EXPECT_TRUE(find_damage(root_ / "d", read_manifest(root_ / "d"), 2).empty());
}

}  // namespace
}  // namespace octet::checkpoint

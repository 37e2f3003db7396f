#include "checkpoints/format/view.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoints/format/hdf5_support.h"
#include "tests/checkpoints/virtual_ranks.h"

namespace octet::checkpoint::test {
namespace {

const std::vector<ModelTensor>& model() {
  static const std::vector<ModelTensor> tensors = {{{"master/w", DType::f32, {50, 8}}, 1},
                                                   {{"master/norm", DType::f32, {13}}, -1},
                                                   {{"codes", DType::bf16, {7, 3, 4}}, -1}};
  return tensors;
}

class View : public OneProcess {
 protected:
  void SetUp() override {
    OneProcess::SetUp();
    if (!IsSkipped()) manifest_ = save(directory_, {1, 3, 2}, model());
  }

  /// A whole tensor as HDF5 shows it.
  std::vector<char> look(std::size_t t) const {
    const StoredTensor& tensor = model()[t].stored;
    const Hdf5File file(H5Fopen(view_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
    const Hdf5Dataset dataset(H5Dopen2(file.get(), tensor.name.c_str(), H5P_DEFAULT));
    const Hdf5Type type(H5Dget_type(dataset.get()));
    std::vector<char> data(static_cast<std::size_t>(tensor.shape.elements() * size_of(tensor.dtype)));
    EXPECT_GE(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()), 0) << tensor.name;
    return data;
  }

  TemporaryDirectory root_;
  std::string directory_ = root_ / directory_name(12);
  std::string view_ = directory_ + "/" + view_name;
  Manifest manifest_;
};

TEST_F(View, ShowsEveryTensorWhole) {
  write_view(directory_);
  for (std::size_t t = 0; t < model().size(); ++t) {
    const StoredTensor& tensor = model()[t].stored;
    EXPECT_EQ(look(t), content_of(static_cast<int>(t), tensor, whole(tensor.shape))) << tensor.name;
  }
}

TEST_F(View, IsFoundFromItsOwnFolderAfterAMove) {
  write_view(directory_);
  const std::string moved = root_ / "elsewhere";
  std::filesystem::rename(directory_, moved);
  view_ = moved + "/" + view_name;
  EXPECT_EQ(look(1), content_of(1, model()[1].stored, whole({13})));
}

TEST_F(View, IsWrittenOnceAndAgainWhenWrong) {
  EXPECT_FALSE(view_is_current(directory_));
  EXPECT_TRUE(ensure_view(directory_));
  EXPECT_TRUE(view_is_current(directory_));
  EXPECT_FALSE(ensure_view(directory_));
  const std::string good = test::content_of(view_);
  for (std::size_t byte = 0; byte < good.size(); byte += 211) {
    flip_bit(view_, static_cast<std::int64_t>(byte), static_cast<int>(byte % 8));
    ASSERT_FALSE(view_is_current(directory_)) << byte;
    flip_bit(view_, static_cast<std::int64_t>(byte), static_cast<int>(byte % 8));
  }
  ASSERT_TRUE(view_is_current(directory_));
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{4096}, good.size() - 1}) {
    put_file(view_, good.substr(0, size));
    EXPECT_FALSE(view_is_current(directory_)) << size;
  }
  EXPECT_TRUE(ensure_view(directory_));
  EXPECT_EQ(test::content_of(view_), good);
}

TEST_F(View, OfAnotherManifestIsNotCurrent) {
  write_view(directory_);
  manifest_.state.loss += 1;
  put_file(directory_ + "/" + manifest_name, to_json(manifest_));
  EXPECT_FALSE(view_is_current(directory_));
}

TEST_F(View, LeftoverOfAnInterruptedWriteIsReplaced) {
  put_file(view_ + ".tmp", "half a view");
  EXPECT_TRUE(ensure_view(directory_));
  EXPECT_FALSE(std::filesystem::exists(view_ + ".tmp"));
}

// Why no restart reads a view.
TEST_F(View, MissingShardReadsAsNan) {
  write_view(directory_);
  std::filesystem::remove(directory_ + "/" + manifest_.files[0].name);
  const std::vector<char> bytes = look(0);
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  std::int64_t nan = 0, expected = 0;
  for (std::size_t i = 0; i < values.size(); ++i) nan += std::isnan(values[i]);
  const auto original = content_of(0, model()[0].stored, whole({50, 8}));
  for (const StoredPiece& piece : manifest_.pieces) {
    if (piece.file == 0 && piece.tensor == 0) expected += piece.box.extent.elements();
  }
  std::memcpy(values.data(), original.data(), original.size());
  for (const float v : values) expected += std::isnan(v);  // a few of these bits are NaN of their own
  EXPECT_GT(nan, 0);
  EXPECT_NEAR(static_cast<double>(nan), static_cast<double>(expected), 5.0);
}

TEST_F(View, NothingIsWrittenForABadManifest) {
  flip_bit(directory_ + "/" + manifest_name, 40);
  EXPECT_THROW(ensure_view(directory_), Error);
  EXPECT_FALSE(std::filesystem::exists(view_));
}

}  // namespace
}  // namespace octet::checkpoint::test

#include "checkpoints/format/messages.h"

#include <gtest/gtest.h>

#include "checkpoints/save/save_plan.h"

namespace octet::checkpoint {
namespace {

TEST(Messages, BringWhatWasPut) {
  const std::vector<Shape> shapes{{}, {0}, {7}, {2, 3}, {4, 3, 2, 1}};
  const StoredTensor tensor{"master/a", DType::bf16, {5, 6}};
  const StoredFile none, file{"writer-00001.h5", std::int64_t{1} << 40, std::string(32, 'a')};
  const std::vector<StoredFile> files{file, none};
  Packer packer;
  for (const Shape& shape : shapes) put(packer, shape);
  put(packer, tensor);
  put(packer, none);
  put(packer, files);
  put_extents(packer, shapes[3]);
  Unpacker unpacker(packer.bytes());
  for (const Shape& shape : shapes) EXPECT_EQ(take_shape(unpacker), shape);
  EXPECT_EQ(take_tensor(unpacker), tensor);
  EXPECT_EQ(take_file(unpacker), none);
  EXPECT_EQ(take_files(unpacker), files);
  EXPECT_EQ(take_extents(unpacker, 2), shapes[3]);
  unpacker.expect_end();
}

TEST(DescribedPieces, AreThoseThatWereDescribedAndNoMore) {
  const std::vector<DevicePiece> pieces{{{"master/a", DType::f32, {5, 6}}, {{1, 2}, {3, 4}}, nullptr},
                                        {{"scale", DType::i32, {1}}, {{}, {1}}, nullptr}};
  const std::string description = describe_pieces(pieces);
  const std::vector<DevicePiece> again = described_pieces(description);
  ASSERT_EQ(again.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again[i].tensor, pieces[i].tensor);
    EXPECT_EQ(again[i].box, pieces[i].box);
  }
  EXPECT_THROW(described_pieces(description + "x"), Error);
  EXPECT_THROW(described_pieces(description.substr(0, description.size() - 1)), Error);
}

}  // namespace
}  // namespace octet::checkpoint

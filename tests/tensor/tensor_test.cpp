#include "src/tensor/tensor.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace octet {
namespace {

TEST(Shape, CountsAndText) {
  const Shape s{2, 3, 4};
  EXPECT_EQ(s.rank(), 3);
  EXPECT_EQ(s[2], 4);
  EXPECT_EQ(s.elements(), 24);
  EXPECT_EQ(s.row_elements(), 12);
  EXPECT_EQ(s.text(), "[2, 3, 4]");
  EXPECT_EQ(Shape({7}).row_elements(), 1);
  EXPECT_EQ(Shape({7}).text(), "[7]");
  EXPECT_EQ(Shape().elements(), 0);
  EXPECT_EQ(Shape().row_elements(), 0);
  EXPECT_EQ(Shape().text(), "[]");
}

TEST(Shape, SixtyFourBits) {
  EXPECT_EQ(Shape({1 << 20, 1 << 15}).elements(), 1LL << 35);
}

TEST(Shape, EmptyOnesKnowTheirRow) {
  const Shape none{0, 5};
  EXPECT_EQ(none.elements(), 0);
  EXPECT_EQ(none.row_elements(), 5);
  EXPECT_EQ(none.with_rows(3), (Shape{3, 5}));
}

TEST(Shape, ComparesExtentsAndRank) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 0}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
  EXPECT_EQ(Shape({2, 3}).with_rows(9), (Shape{9, 3}));
  EXPECT_THROW(Shape({1, 2, 3, 4, 5}), Error);
}

TEST(Tensor, RowsAreAViewOfThePart) {
  std::vector<bf16> data(12);
  const float inverse_scale = 0.5f;
  const Tensor t{data.data(), DType::bf16, {4, 3}, &inverse_scale};
  EXPECT_EQ(t.elements(), 12);
  EXPECT_EQ(t.bytes(), 24);
  const Tensor part = t.rows(1, 2);
  EXPECT_EQ(part.data, data.data() + 3);
  EXPECT_EQ(part.shape, (Shape{2, 3}));
  EXPECT_EQ(part.inverse_scale, &inverse_scale);
  EXPECT_EQ(part.rows(1, 1).as<bf16>(), data.data() + 6);
  EXPECT_EQ(t.rows(4, 0).elements(), 0);
  EXPECT_EQ(t.rows(4, 0).data, data.data() + 12);
}

/// One scale a row goes with the rows; scales of vectors and blocks lie in the whole's order, so that no part has its
/// own.
TEST(Tensor, RowsWithSeveralScales) {
  const std::vector<float> scales(16);
  Tensor t{nullptr, DType::e4m3, {256, 128}, scales.data(), 0, ScaleForm::each};
  EXPECT_EQ(t.rows(3, 5).inverse_scale, scales.data() + 3);
  t.scale_dim = 1;
  EXPECT_EQ(t.rows(3, 5).inverse_scale, scales.data());
  for (const ScaleForm form : {ScaleForm::vectors, ScaleForm::blocks}) {
    t.scale_form = form;
    EXPECT_EQ(t.rows(0, 256).inverse_scale, scales.data());
    try {
      t.rows(128, 128);
      FAIL() << "a part of a matrix with scales of " << name_of(form);
    } catch (const Error& e) {
      EXPECT_EQ(e.what(), fmt::format("[tensor] rows 128 to 256 of e4m3 [256, 128] with scales of {}: their scales lie "
                                      "in the whole's order",
                                      name_of(form)));
    }
  }
}

TEST(Tensor, ReadAsAnotherTypeIsAnErrorThatNamesBoth) {
  float x = 1;
  const Tensor t{&x, DType::f32, {1}, nullptr};
  EXPECT_EQ(t.as<float>(), &x);
  try {
    t.as<bf16>();
    FAIL() << "f32 was read as bf16";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "[tensor] tensor of f32 read as bf16");
  }
}

TEST(TensorBuffer, OwnsAndReportsItsMemory) {
  const auto held = [] { return cpu_device().ledger().usage(Purpose::gradients).now; };
  const std::int64_t before = held();
  {
    TensorBuffer owner(cpu_device(), DType::e4m3, {16, 32}, Purpose::gradients);
    EXPECT_EQ(held(), before + 512);
    EXPECT_EQ(owner.view().shape, (Shape{16, 32}));
    const Tensor view = owner;
    EXPECT_NE(view.as<e4m3>(), nullptr);
    const TensorBuffer moved = std::move(owner);
    EXPECT_EQ(moved.view().data, view.data);
    EXPECT_EQ(held(), before + 512);
  }
  EXPECT_EQ(held(), before);
  EXPECT_EQ(TensorBuffer().view().data, nullptr);
}

}  // namespace
}  // namespace octet

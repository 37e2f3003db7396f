// The fp8 scalars of src/base/float8.h against PyTorch's casts (tests/golden/make_float8_golden.py).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "src/base/float8.h"
#include "tests/support/golden.h"

namespace octet {
namespace {

template <typename T>
class Float8Golden : public ::testing::Test {
 protected:
  const std::string format_{name_of(dtype_of<T>::value)};
};
using Formats = ::testing::Types<e4m3, e5m2>;
TYPED_TEST_SUITE(Float8Golden, Formats);

TYPED_TEST(Float8Golden, EncodesAsPyTorch) {
  const Golden golden("float8_cast");
  const auto input = golden.values<float>(this->format_ + ".input");
  const auto bytes = golden.values<std::uint8_t>(this->format_ + ".bytes");
  ASSERT_EQ(input.size(), bytes.size());
  ASSERT_GT(input.size(), 1000u);
  for (std::size_t i = 0; i < input.size(); ++i) {
    // PyTorch gives NaN one code or another; Octet's is 0x7F with the sign, and both decode to NaN.
    if (std::isnan(input[i])) {
      EXPECT_EQ(TypeParam::encode(input[i]) & 0x7F, 0x7F);
      EXPECT_TRUE(std::isnan(TypeParam::decode(bytes[i])));
    } else {
      EXPECT_EQ(int{TypeParam::encode(input[i])}, int{bytes[i]}) << "value " << i << ", " << input[i];
    }
  }
}

TYPED_TEST(Float8Golden, DecodesAsPyTorch) {
  const auto decoded = Golden("float8_cast").values<float>(this->format_ + ".decoded");
  ASSERT_EQ(decoded.size(), 256u);
  for (std::size_t code = 0; code < 256; ++code) {
    const float ours = TypeParam::decode(static_cast<std::uint8_t>(code));
    if (std::isnan(decoded[code])) {
      EXPECT_TRUE(std::isnan(ours)) << "code " << code;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(ours), std::bit_cast<std::uint32_t>(decoded[code])) << "code " << code;
    }
  }
}

// A whole tensor: codes of x · scale for the three operands of a linear, the scale taken from the golden file.
TEST(Float8GoldenLinear, CodesOfScaledTensors) {
  for (const char* name : {"normal", "zero_input", "zero_grad", "outliers"}) {
    const Golden golden(std::string("float8_linear_") + name);
    const auto check = [&]<typename From, typename To>(const std::string& tensor, From, To) {
      const auto x = golden.values<From>(tensor);
      const auto codes = golden.values<To>(tensor + ".codes");
      const float scale = golden.values<float>(tensor + ".scale")[0];
      ASSERT_EQ(x.size(), codes.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(int{To(static_cast<float>(x[i]) * scale).bits}, int{codes[i].bits})
            << name << " " << tensor << " " << i;
      }
    };
    check("x", bf16{}, e4m3{});
    check("w", float{}, e4m3{});
    check("dy", bf16{}, e5m2{});
  }
}

}  // namespace
}  // namespace octet

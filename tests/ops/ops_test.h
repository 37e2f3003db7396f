#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "src/ops/linear.h"
#include "src/ops/linear_gemms.h"
#include "src/ops/recipes/recipe_list.h"
#include "tests/support/error_of.h"
#include "tests/support/numbers.h"

namespace octet::test {

/// A context on the CPU with scratch, no exchange and a trace. At the end of every test the scratch must be empty.
class OpsTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(scratch_.mark(), 0) << "an op kept scratch"; }

  /// Three fp32 places for one cast, with an abs-max of zero; valid as long as the fixture.
  QuantScale new_scale() {
    const QuantScale scale = QuantScale::allocate(scales_);
    *scale.amax = 0;
    return scale;
  }

  std::unique_ptr<Stream> stream_ = cpu_device().make_stream();
  Arena scratch_{cpu_device(), 16 << 20, Purpose::workspace, "scratch"};
  Arena scales_{cpu_device(), 16 << 10, Purpose::workspace, "scales"};
  NoExchange exchange_;
  GemmTrace trace_;
  OpContext op_{*stream_, kernels_of(*stream_), scratch_, exchange_, &trace_};
};

/// A linear of a float8 recipe.
inline LinearRecipe float8_linear(std::string_view name, const Float8Config& float8 = {}) {
  return {name, float8_recipe(float8)};
}

/// What `f` throws: its message, or "" when it throws nothing.
template <typename F>
std::string internal_error_of(F f) {
  return error_or_none(f, ExitCode::internal);
}

}  // namespace octet::test

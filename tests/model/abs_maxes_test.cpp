// What a pass launches to take the abs-maxes of its casts: nothing for one number alone, but the scales of the
// gradients of gate and up, which SwiGLU's backward casts itself.
#include <gtest/gtest.h>

#include <map>

#include "src/device/work_list.h"
#include "tests/model/local_state.h"

namespace octet {
namespace {

using Launches = std::map<std::string, int>;

/// Of a pass, by the kernel's name.
Launches launches(test::LocalModel& model) {
  WorkList list;
  Listing listing(*model.stream, list);
  model.forward_backward();
  EXPECT_EQ(listing.end(), nullptr);
  Launches count;
  list.describe([&](const Work& work) { ++count[std::string(work.name)]; });
  return count;
}

/// All are zeroed at once, and only what attention writes is read for its abs-max alone, once forward and once
/// backward.
TEST(AbsMaxes, OfOnePassAreZeroedByOneLaunch) {
  for (const int layers : {1, 3}) {
    LlamaSettings settings = test::LocalModel(Precision::float8).settings;
    settings.model.layers = layers;
    test::LocalModel model(settings);
    Launches count = launches(model);
    EXPECT_EQ(count["zero"], 1);
    EXPECT_EQ(count["stats"], 2 * layers);
    EXPECT_EQ(count["cast_to_float8"], 9 * layers);
    EXPECT_EQ(count["compute_scales"], 2 * layers);
    EXPECT_EQ(count["swiglu_backward"], 2 * layers);
  }
  test::LocalModel plain(Precision::bf16);
  EXPECT_EQ(launches(plain)["zero"], 0);
}

/// What is known before is cast by its producer, or measured by the pass that casts it.
TEST(AbsMaxes, OfKnownScalesCostNoRead) {
  test::LocalModel model(Precision::float8, false, {.recipe = "delayed"});
  const auto layers = static_cast<int>(model.settings.model.layers);
  Launches first = launches(model);
  EXPECT_EQ(first["zero"], 1);
  EXPECT_EQ(first["stats"], 2 * layers);
  model.llama.scaling().finish_step(*model.stream, cpu_kernels());
  Launches count = launches(model);
  EXPECT_EQ(count["zero"], 1);
  EXPECT_EQ(count["stats"], 0);
  EXPECT_EQ(count["cast_to_float8"], 2 * layers);
}

}  // namespace
}  // namespace octet

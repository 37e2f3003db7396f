// What an export makes of the weights: fp16, and the mean of several checkpoints.
#include "checkpoints/hugging_face/export.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <functional>

#include "checkpoints/hugging_face/import.h"
#include "checkpoints/hugging_face/weight_type.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"
#include "tests/support/expect_has.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::error_or_none;

class Export : public testing::Test {
 protected:
  ExportReport export_to(const std::string& name, const std::vector<std::string>& from, WeightType type) {
    std::vector<WholeCheckpoint> whole;
    whole.reserve(from.size());
    for (const std::string& c : from) whole.push_back({root_ / c, read_manifest(root_ / c)});
    ExportOptions options;
    options.model = test::small_model();
    options.max_positions = 32;
    options.type = type;
    options.max_shard_bytes = 4000;
    options.program = "octet test";
    return export_hugging_face(whole, root_ / name, options);
  }
  /// The small model at step 9, with a change to its values.
  test::Values write(const std::string& name, std::uint32_t seed, const std::function<void(test::Values&)>& change) {
    const auto tensors = training_tensors(test::small_model());
    test::Values values = test::values_of(tensors, seed);
    change(values);
    test::write_values(root_ / name, test::small_state(9), tensors, values, 3);
    return values;
  }
  /// All values of an exported folder's parameters, by the names of a checkpoint.
  test::Values exported(const std::string& name) const {
    const HuggingFaceModel model(root_ / name);
    test::Values values;
    for (const StoredTensor& t : model_tensors(test::small_model())) {
      auto& x = values["master/" + t.name];
      x.resize(static_cast<std::size_t>(t.shape.elements()));
      model.read_rows(t.name, 0, t.shape[0], x.data());
    }
    return values;
  }
  test::TemporaryDirectory root_;
};

test::Values masters_of(test::Values values) {
  std::erase_if(values, [](const auto& entry) { return !entry.first.starts_with("master/"); });
  return values;
}

TEST_F(Export, Fp16ComesBackRoundedAndCountsWhatIsSmall) {
  test::Values values = masters_of(write("c", 1, [](test::Values& v) {
    test::without_the_largest(v);
    v["master/norm.weight"] = std::vector<float>(20, 1.0f);
    v["master/norm.weight"][3] = 0x1p-15f;  // subnormal
    v["master/norm.weight"][4] = 0x1p-30f;  // nothing is left
    v["master/norm.weight"][5] = 0.0f;      // nothing was there
  }));
  SmallWeights small;
  for (auto& [name, x] : values) {
    for (float& v : x) {
      const float before = v;
      v = from_half(to_half(v));
      small.zero += v == 0 && before != 0;
      small.subnormal += v != 0 && std::abs(v) < 0x1p-14f;
    }
  }
  const ExportReport report = export_to("half", {"c"}, WeightType::fp16);
  EXPECT_EQ(report.bytes, test::small_model().parameters() * 2);
  EXPECT_TRUE(test::same_bits(exported("half"), values));
  EXPECT_EQ(report.small.zero, small.zero);
  EXPECT_EQ(report.small.subnormal, small.subnormal);
  EXPECT_GT(small.subnormal, 0);
  EXPECT_HAS(test::content_of(root_ / "half/config.json"), "\"float16\"");
}

TEST_F(Export, Fp16RefusesWhatItDoesNotHoldByNameAndLeavesNothing) {
  write("c", 1, [](test::Values& v) {
    test::without_the_largest(v);
    v["master/layers.1.attention.wk.weight"][2 * 20 + 7] = -65520.0f;
  });
  EXPECT_HAS(error_of([&] { export_to("half", {"c"}, WeightType::fp16); }),
             "layers.1.attention.wk.weight[2,7] is -65520, beyond the largest value of fp16");
  EXPECT_FALSE(fs::exists(root_ / "half"));
  EXPECT_FALSE(fs::exists(root_ / "half.tmp"));
  write("d", 1, [](test::Values& v) {
    test::without_the_largest(v);
    v["master/norm.weight"][19] = 1e38f;
    v["master/norm.weight"][18] = 65519.0f;  // rounds to the largest
  });
  EXPECT_HAS(error_of([&] { export_to("half", {"d"}, WeightType::fp16); }), "norm.weight[19] is ");
}

TEST_F(Export, WhatIsNoNumberIsRefusedByNameInEveryType) {
  write("nan", 1, [](test::Values& v) {
    test::without_the_largest(v);
    v["master/layers.1.attention.wk.weight"][2 * 20 + 7] = NAN;
    v["master/layers.1.attention.wk.weight"][2 * 20 + 9] = HUGE_VALF;
  });
  write("infinite", 1, [](test::Values& v) {
    test::without_the_largest(v);
    v["master/norm.weight"][17] = -HUGE_VALF;
    v["first_moment/norm.weight"][3] = NAN;  // goes nowhere
  });
  write("whole", 2, [](test::Values& v) {
    test::without_the_largest(v);
    v["first_moment/norm.weight"][3] = NAN;
  });
  for (const WeightType type : {WeightType::fp32, WeightType::bf16, WeightType::fp16}) {
    SCOPED_TRACE(names_of(type).ours);
    EXPECT_HAS(error_of([&] { export_to("out", {"nan"}, type); }),
               "layers.1.attention.wk.weight[2,7] is nan, and so are 1 more near it; expected finite weights");
    EXPECT_HAS(error_of([&] { export_to("out", {"infinite"}, type); }), "norm.weight[17] is -inf; expected finite");
    EXPECT_HAS(error_of([&] { export_to("out", {"whole", "infinite"}, type); }), "norm.weight[17] is -inf");
    EXPECT_FALSE(fs::exists(root_ / "out"));
    EXPECT_FALSE(fs::exists(root_ / "out.tmp"));
    EXPECT_EQ(error_or_none([&] { export_to("out", {"whole"}, type); }), "");
    fs::remove_all(root_ / "out");
  }
}

TEST_F(Export, WhatRoundsToInfinityIsRefused) {
  write("large", 3, [](test::Values& v) {
    test::without_the_largest(v);
    v["master/norm.weight"][5] = FLT_MAX;
  });
  EXPECT_HAS(error_of([&] { export_to("out", {"large"}, WeightType::bf16); }),
             "norm.weight[5] is 3.4028235e+38, beyond the largest value of bf16");
  EXPECT_FALSE(fs::exists(root_ / "out"));
  EXPECT_EQ(error_or_none([&] { export_to("out", {"large"}, WeightType::fp32); }), "");
}

TEST_F(Export, TheMeanIsThatOfNumpy) {
  // np.mean(np.stack(x).astype(np.float64), axis=0).astype(np.float32): sums from 0 in this order, one division.
  const auto a = write("a", 1, [](auto&) {}), b = write("b", 2, [](auto&) {}), c = write("c", 3, [](auto&) {});
  export_to("mean", {"c", "b", "a"}, WeightType::fp32);
  test::Values mean = masters_of(a);
  for (auto& [name, x] : mean) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>((0.0 + double{c.at(name)[i]} + double{b.at(name)[i]} + double{a.at(name)[i]}) / 3.0);
    }
  }
  EXPECT_TRUE(test::same_bits(exported("mean"), mean));
  export_to("one", {"a"}, WeightType::fp32);
  EXPECT_TRUE(test::same_bits(exported("one"), masters_of(a)));
}

TEST_F(Export, TheMeanComesInPartsThatFitIntoItsShareOfMemory) {
  const auto a = write("a", 1, [](auto&) {}), b = write("b", 2, [](auto&) {});
  const StoredTensor tensor{"master/output.weight", DType::f32, {45, 20}};
  const std::vector<WholeCheckpoint> from = {{root_ / "a", read_manifest(root_ / "a")},
                                             {root_ / "b", read_manifest(root_ / "b")}};
  MeanReader reader(from, {tensor}, 5 * 80 * 4);  // four rows to each of two readers, the sums (twice) and the means
  EXPECT_EQ(reader.parts().size(), 12u);
  std::size_t i = 0;
  for (const Part& part : reader.parts()) {
    const float* mean = reader.next();
    for (std::int64_t e = 0; e < part.box.extent.elements(); ++e, ++i) {
      ASSERT_EQ(mean[e], static_cast<float>((double{a.at(tensor.name)[i]} + double{b.at(tensor.name)[i]}) / 2));
    }
  }
  EXPECT_EQ(i, 900u);
  EXPECT_HAS(error_of([&] { reader.next(); }, ExitCode::internal), "more than 12 parts");
}

TEST_F(Export, TheMeanOfDifferentModelsIsRefused) {
  test::write_small(root_ / "a", 9);
  test::write_small(root_ / "tied", 10, 1, true);
  EXPECT_HAS(error_of([&] {
               export_to("mean", {"a", "tied"}, WeightType::fp32);
             }),
             "tied: has no master/output.weight");
  EXPECT_FALSE(fs::exists(root_ / "mean"));
}

}  // namespace
}  // namespace octet::checkpoint

#include "kernels/predicted_scales.h"

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

/// Weights with moments and gradients, and what stands beside them.
struct Weights {
  explicit Weights(std::int64_t n, std::uint32_t id)
      : parameter(random_values(n, id)),
        first(random_values(n, id + 1, 0.1)),
        second(random_values(n, id + 2, 0.1)),
        gradient(random_values(n, id + 3, 0.5)),
        codes(static_cast<std::size_t>(n), e4m3(1.0f)) {
    for (float& v : second) v = v * v;
  }
  std::int64_t largest() const {
    const auto smaller = [](float a, float b) { return std::abs(a) < std::abs(b); };
    return std::ranges::max_element(parameter, smaller) - parameter.begin();
  }
  AdamWUpdate update(const std::uint32_t* skip, bool power_of_two) {
    return {.parameter = parameter.data(),
            .first_moment = first.data(),
            .second_moment = second.data(),
            .gradient = gradient.data(),
            .n = static_cast<std::int64_t>(parameter.size()),
            .lr = 1e-2,
            .beta1 = 0.9,
            .beta2 = 0.999,
            .eps = 1e-8,
            .weight_decay = 0.1,
            .bias1 = 0.19,
            .bias2 = 0.002,
            .skip = skip,
            .float8 = {.y = codes.data(), .scale = &predicted},
            .prediction = {&leader, &predicted, power_of_two},
            .stats = {.amax = &amax, .non_finite = nullptr}};
  }
  std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> bytes;
    for (const e4m3 code : codes) bytes.push_back(code.bits);
    return bytes;
  }

  std::vector<float> parameter, first, second, gradient;
  std::vector<e4m3> codes;
  std::int64_t leader = 0;
  float predicted = 0, amax = 0;
};

struct Scale {
  float scale = 0, inverse = 0;
};

Scale right_scale(const Weights& w, bool power_of_two) {
  Scale s;
  cpu::compute_scales(stream(), {&w.amax, &s.scale, &s.inverse, 1, DType::e4m3, power_of_two});
  return s;
}

std::vector<std::uint8_t> cast(const Weights& w, float scale) {
  Weights by = w;
  cpu::cast_to_float8(stream(), {.x = w.parameter.data(),
                                 .from = DType::f32,
                                 .y = by.codes.data(),
                                 .n = static_cast<std::int64_t>(w.parameter.size()),
                                 .scale = &scale});
  return by.bytes();
}

/// The element that was largest stays so, or another is larger then; the update is skipped or not.
TEST(PredictedScales, AreRightWhereTheLeaderStaysAndAreMendedWhereItDoesNot) {
  for (const bool power_of_two : {false, true}) {
    for (const bool overtaken : {false, true}) {
      for (const std::uint32_t skip : {0u, 1u}) {
        SCOPED_TRACE(fmt::format("powers of two {}, overtaken {}, skip {}", power_of_two, overtaken, skip));
        std::vector<Weights> all;
        for (const std::int64_t n : {2, 13, 5003}) all.emplace_back(n, static_cast<std::uint32_t>(n));
        PredictScales args;
        for (Weights& w : all) {
          w.parameter[1] = -8.0f;
          w.leader = overtaken ? 0 : 1;
          args.of.add(w.update(&skip, power_of_two));
        }
        const std::vector<Weights> before = all;
        cpu::predict_scales(stream(), args);
        for (std::size_t i = 0; i < all.size(); ++i) {
          EXPECT_EQ(all[i].parameter, before[i].parameter);
          EXPECT_EQ(all[i].first, before[i].first);
          EXPECT_EQ(all[i].second, before[i].second);
        }
        cpu::adamw(stream(), args.of);
        for (Weights& w : all) {
          EXPECT_EQ(w.bytes(), cast(w, w.predicted));
          const Scale right = right_scale(w, power_of_two);
          EXPECT_EQ(w.predicted != right.scale, overtaken);
          const std::vector<std::uint8_t> written = w.bytes();
          cpu::recast_float8(stream(), {.x = w.parameter.data(),
                                        .y = w.codes.data(),
                                        .n = static_cast<std::int64_t>(w.parameter.size()),
                                        .written_by = &w.predicted,
                                        .scale = &right.scale,
                                        .amax = &w.amax,
                                        .leader = &w.leader});
          EXPECT_EQ(w.bytes(), cast(w, right.scale));
          EXPECT_EQ(w.bytes() == written, !overtaken);
          EXPECT_EQ(w.leader, w.largest());
        }
      }
    }
  }
}

/// No prediction is made for what has no leader.
TEST(PredictedScales, AreForThoseThatAskForThem) {
  Weights one(8, 1), other(8, 5);
  PredictScales args;
  args.of.add(one.update(nullptr, false));
  args.of.updates[0].prediction = {};
  args.of.add(other.update(nullptr, false));
  cpu::predict_scales(stream(), args);
  EXPECT_EQ(one.predicted, 0.0f);
  EXPECT_GT(other.predicted, 0.0f);
}

TEST(PredictedScales, SayNothingOfNaN) {
  Weights w(8, 1);
  w.gradient[0] = nan_f32;
  PredictScales args{w.update(nullptr, false)};
  cpu::predict_scales(stream(), args);
  EXPECT_TRUE(std::isnan(w.predicted));
}

TEST(PredictedScales, ARecastWithoutALargestElementLeavesTheLeader) {
  Weights w(8, 1);
  w.leader = 3;
  const float written_by = 1, absent = 1e9f;
  for (const float scale : {2.0f, nan_f32}) {
    cpu::recast_float8(stream(), {.x = w.parameter.data(),
                                  .y = w.codes.data(),
                                  .n = 8,
                                  .written_by = &written_by,
                                  .scale = &scale,
                                  .amax = &absent,
                                  .leader = &w.leader});
    EXPECT_EQ(w.bytes(), cast(w, scale));
    EXPECT_EQ(w.leader, 3);
  }
}

}  // namespace
}  // namespace octet

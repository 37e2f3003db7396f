#include "kernels/predicted_scales.h"

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

/// The state of one weight, in both memories.
struct Weight {
  Weight(Stream& stream, std::int64_t n, std::int64_t leads, bool narrow)
      : parameter(stream, led_by(n, leads)),
        first(stream, normal<float>(n, 32, 1e-3)),
        second(stream, squares(n)),
        gradient(stream, normal<float>(n, 34, 1e-2)),
        short_gradient(stream, normal<bf16>(n, 34, 1e-2)),
        codes(stream, std::vector<e4m3>(static_cast<std::size_t>(n), e4m3(1.0f))),
        leader(stream, {0}),
        predicted(Both<float>::output(stream, 1)),
        narrow(narrow) {}

  static std::vector<float> squares(std::int64_t n) {
    auto values = normal<float>(n, 33, 1e-3);
    for (float& v : values) v *= v;
    return values;
  }
  /// The largest of all is element `leads`.
  static std::vector<float> led_by(std::int64_t n, std::int64_t leads) {
    auto values = normal<float>(n, 31);
    values[static_cast<std::size_t>(leads)] = -9.0f;
    return values;
  }
  AdamWUpdate update(bool on_gpu, const std::uint32_t* skip, bool power_of_two) {
    const auto of = [&](auto& x) { return on_gpu ? x.gpu() : x.cpu(); };
    return {.parameter = of(parameter),
            .first_moment = of(first),
            .second_moment = of(second),
            .gradient = narrow ? static_cast<const void*>(of(short_gradient)) : of(gradient),
            .gradient_dtype = narrow ? DType::bf16 : DType::f32,
            .n = parameter.size(),
            .lr = 1e-2,
            .beta1 = 0.9,
            .beta2 = 0.95,
            .eps = 1e-8,
            .weight_decay = 0.1,
            .bias1 = 0.271,
            .bias2 = 0.142625,
            .skip = skip,
            .float8 = {.y = of(codes), .scale = of(predicted)},
            .prediction = {of(leader), of(predicted), power_of_two},
            .stats = {}};
  }

  Both<float> parameter, first, second, gradient;
  Both<bf16> short_gradient;
  Both<e4m3> codes;
  Both<std::int64_t> leader;
  Both<float> predicted;
  bool narrow;
};

class GpuPredictedScales : public GpuTest {};

TEST_F(GpuPredictedScales, AreTheCpus) {
  for (const bool power_of_two : {false, true}) {
    for (const std::uint32_t skipped : {0u, 1u}) {
      SCOPED_TRACE(fmt::format("powers of two {}, skipped {}", power_of_two, skipped));
      Both<std::uint32_t> skip(*gpu_stream, {skipped});
      std::vector<std::unique_ptr<Weight>> weights;
      PredictScales on_cpu, on_gpu;
      for (const std::int64_t n : {1, 5, 4096, 300007}) {
        for (const bool narrow : {false, true}) {
          Weight& w = *weights.emplace_back(std::make_unique<Weight>(*gpu_stream, n, n / 2, narrow));
          on_cpu.of.add(w.update(false, skip.cpu(), power_of_two));
          on_gpu.of.add(w.update(true, skip.gpu(), power_of_two));
        }
      }
      cpu.predict_scales(*cpu_stream, on_cpu);
      gpu().predict_scales(*gpu_stream, on_gpu);
      for (const auto& w : weights) {
        expect_same_bits(w->predicted, "scale");
        expect_same_bits(w->parameter, "parameter");
        expect_same_bits(w->first, "first moment");
        expect_same_bits(w->second, "second moment");
      }
    }
  }
}

/// Codes by another scale are made anew and the leader is found; by the right one nothing is touched.
TEST_F(GpuPredictedScales, ThatAreWrongAreMended) {
  for (const std::int64_t n : {1, 3, 1024, 4099, 300007}) {
    for (const bool right : {false, true}) {
      for (const std::int64_t offset : {0, 1}) {
        SCOPED_TRACE(fmt::format("n {}, right {}, offset {}", n, right, offset));
        Weight w(*gpu_stream, n + 1, offset + (n - 1) / 2, false);
        Both<float> scale(*gpu_stream, {448.0f / 9}), amax(*gpu_stream, {9.0f}),
            written_by(*gpu_stream, {right ? 448.0f / 9 : 50.0f});
        RecastFloat8 args{.x = w.parameter.cpu() + offset,
                          .y = w.codes.cpu() + offset,
                          .n = n,
                          .written_by = written_by.cpu(),
                          .scale = scale.cpu(),
                          .amax = amax.cpu(),
                          .leader = w.leader.cpu()};
        cpu.recast_float8(*cpu_stream, args);
        args.x = w.parameter.gpu() + offset, args.y = w.codes.gpu() + offset, args.leader = w.leader.gpu();
        args.written_by = written_by.gpu(), args.scale = scale.gpu(), args.amax = amax.gpu();
        gpu().recast_float8(*gpu_stream, args);
        expect_same_bits(w.codes, "codes");
        expect_same_bits(w.leader, "leader");
        EXPECT_EQ(w.leader.host()[0], right ? 0 : (n - 1) / 2);
      }
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test

#include <limits>
#include <random>

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

/// The state of one parameter, in both memories.
struct State {
  State(Stream& stream, std::int64_t n)
      : parameter(stream, normal<float>(n, 31)),
        first(stream, normal<float>(n, 32, 1e-3)),
        second(stream, squares(n)),
        gradient(stream, normal<float>(n, 34, 1e-2)),
        narrow(stream, normal<bf16>(n, 34, 1e-2)),
        rounded(stream, std::vector<bf16>(static_cast<std::size_t>(n), bf16(1.0f))),
        codes(stream, std::vector<e4m3>(static_cast<std::size_t>(n), e4m3(1.0f))),
        code_scale(stream, {100.0f}),
        amax(stream, {raised_from}) {}

  static constexpr float raised_from = 1.5f;  ///< above some shards' abs-max and below others'

  static std::vector<float> squares(std::int64_t n) {
    auto values = normal<float>(n, 33, 1e-3);
    for (float& v : values) v *= v;
    return values;
  }

  Both<float> parameter, first, second, gradient;
  Both<bf16> narrow;   ///< the gradient in bf16
  Both<bf16> rounded;  ///< the parameter in bf16
  Both<e4m3> codes;    ///< and in e4m3, by the scale
  Both<float> code_scale;
  Both<float> amax;
};

class GpuAdamW : public GpuTest {
 protected:
  /// `skip` < 0: no flag.
  void compare(std::int64_t n, std::int64_t offset, int skip, bool clipped = true, std::int64_t multiprocessors = 0,
               int step = 3) {
    SCOPED_TRACE(fmt::format("n {}, offset {}, skip {}, {} multiprocessors", n, offset, skip, multiprocessors));
    State s(*gpu_stream, n + offset);
    Both<float> scale(*gpu_stream, {0.3f});
    Both<std::uint32_t> flag(*gpu_stream, {static_cast<std::uint32_t>(std::max(skip, 0))});
    AdamWUpdate args{.parameter = s.parameter.cpu() + offset,
                     .first_moment = s.first.cpu() + offset,
                     .second_moment = s.second.cpu() + offset,
                     .gradient = s.gradient.cpu() + offset,
                     .n = n,
                     .lr = 3e-4,
                     .beta1 = 0.9,
                     .beta2 = 0.95,
                     .eps = 1e-8,
                     .weight_decay = 0.1,
                     .bias1 = 1 - std::pow(0.9, step),
                     .bias2 = 1 - std::pow(0.95, step),
                     .gradient_scale = clipped ? scale.cpu() : nullptr,
                     .skip = skip < 0 ? nullptr : flag.cpu(),
                     .rounded = clipped ? s.rounded.cpu() + offset : nullptr,
                     .stats = {.amax = s.amax.cpu(), .non_finite = nullptr},
                     .multiprocessors = multiprocessors};
    cpu.adamw(*cpu_stream, args);
    args.parameter = s.parameter.gpu() + offset, args.gradient = s.gradient.gpu() + offset;
    args.first_moment = s.first.gpu() + offset, args.second_moment = s.second.gpu() + offset;
    args.gradient_scale = clipped ? scale.gpu() : nullptr, args.skip = skip < 0 ? nullptr : flag.gpu();
    args.stats.amax = s.amax.gpu();
    if (clipped) args.rounded = s.rounded.gpu() + offset;
    gpu().adamw(*gpu_stream, args);
    if (skip > 0) {
      expect_same_bits(s.parameter, "parameter");
      expect_same_bits(s.first, "first moment");
      expect_same_bits(s.second, "second moment");
      expect_same_bits(s.amax, "amax");
      expect_same_bits(s.rounded, "parameter in bf16");
      return;
    }
    expect_close(s.parameter, 1e-6, "parameter");
    expect_close(s.first, 1e-6, "first moment");
    expect_close(s.second, 1e-6, "second moment");
    check_amax(s, n, offset);
    if (clipped) check_rounded(s, n, offset);
  }

  /// The new values as a cast would round them, and nothing beside them.
  void check_rounded(State& s, std::int64_t n, std::int64_t offset) {
    const std::vector<float> stored = s.parameter.download();
    for (std::int64_t i = offset; i < offset + n; ++i) s.rounded.cpu()[i] = bf16(stored[static_cast<std::size_t>(i)]);
    expect_same_bits(s.rounded, "parameter in bf16");
  }

  /// That of the new values, bit by bit.
  void check_amax(State& s, std::int64_t n, std::int64_t offset) {
    const std::vector<float> stored = s.parameter.download();
    *s.amax.cpu() = State::raised_from;
    cpu.stats(*cpu_stream, {.x = stored.data() + offset, .dtype = DType::f32, .n = n, .out = {s.amax.cpu(), nullptr}});
    expect_same_bits(s.amax, "amax");
  }
};

/// Gradients in bf16 against the CPU with the same, and against the same values in fp32 on the GPU, these to the bit.
TEST_F(GpuAdamW, OfGradientsInBf16) {
  for (const std::int64_t n : {1, 3, 4, 1023, 4096, 1100003}) {
    for (const std::int64_t offset : {0, 1}) {
      SCOPED_TRACE(fmt::format("n {}, offset {}", n, offset));
      State s(*gpu_stream, n + offset), wide(*gpu_stream, n + offset);
      std::vector<float> values;
      for (const bf16 v : s.narrow.host()) values.push_back(static_cast<float>(v));
      Both<float> widened(*gpu_stream, values);
      const auto update = [&](State& state, const void* gradient, DType dtype, bool on_gpu) {
        const auto of = [&](Both<float>& x) { return (on_gpu ? x.gpu() : x.cpu()) + offset; };
        const AdamWUpdate args{.parameter = of(state.parameter),
                               .first_moment = of(state.first),
                               .second_moment = of(state.second),
                               .gradient = gradient,
                               .gradient_dtype = dtype,
                               .n = n,
                               .lr = 3e-4,
                               .beta1 = 0.9,
                               .beta2 = 0.95,
                               .eps = 1e-8,
                               .weight_decay = 0.1,
                               .bias1 = 1 - std::pow(0.9, 3),
                               .bias2 = 1 - std::pow(0.95, 3),
                               .stats = {}};
        on_gpu ? gpu().adamw(*gpu_stream, args) : cpu.adamw(*cpu_stream, args);
      };
      update(s, s.narrow.cpu() + offset, DType::bf16, false);
      update(s, s.narrow.gpu() + offset, DType::bf16, true);
      update(wide, widened.gpu() + offset, DType::f32, true);
      expect_close(s.parameter, 1e-6, "parameter");
      expect_close(s.first, 1e-6, "first moment");
      expect_close(s.second, 1e-6, "second moment");
      const auto same = [](Both<float>& a, Both<float>& b) {
        const std::vector<float> x = a.download(), y = b.download();
        return std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
      };
      EXPECT_TRUE(same(s.parameter, wide.parameter));
      EXPECT_TRUE(same(s.first, wide.first));
      EXPECT_TRUE(same(s.second, wide.second));
    }
  }
}

TEST_F(GpuAdamW, AsTheCpu) {
  for (const std::int64_t n : {0, 1, 3, 4, 1023, 4096, 1100003}) {
    for (const std::int64_t offset : {0, 1}) {
      compare(n, offset, 0);
      compare(n, offset, -1, false);
    }
  }
}

/// A block of 1,024 threads has 4,096 elements at a time, or twice as many: less than a round, one, several and tails.
TEST_F(GpuAdamW, OnFewMultiprocessorsAsTheCpu) {
  for (const std::int64_t n : {1, 4095, 4096, 4099, 8192, 12291, 16384, 1100003}) {
    for (const std::int64_t multiprocessors : {1, 3, 24, 1000}) {
      compare(n, 0, 0, true, multiprocessors);
      compare(n, 1, -1, false, multiprocessors);
      compare(n, 0, 0, true, multiprocessors, 1000);  // when its second bias is 1
    }
  }
}

/// Values for which the kernel must leave its roots and quotients without branches: zeros of either sign, denormal and
/// huge ones, infinities and NaN, beside usual ones, and scalars with which it must leave them for all.
TEST_F(GpuAdamW, HasTheBitsOfTheCpuAlsoAtTheEdges) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> edges = {0.0f, -0.0f, 1e-45f, -1e-40f, 1e-38f, 8e-31f, 1e-24f, -1e-16f, 1e-9f, -0.3f,
                                    1.0f, 1e6f,  -2e9f,  1e15f,   1e19f,  3e38f,  inf,    -inf,    nan};
  constexpr std::int64_t n = 70001;
  const auto with_edges = [&](std::uint64_t seed, double scale, bool positive) {
    std::vector<float> values = normal<float>(n, seed, scale);
    std::mt19937_64 random(seed);
    for (float& v : values) {
      if (random() % 16 == 0) v = edges[random() % edges.size()];
      if (positive) v = std::abs(v);
    }
    return values;
  };
  struct Scalars {
    double beta2, bias2, eps;
  };
  for (const Scalars by : {Scalars{0.95, 0.0975, 1e-8},
                           {0.95, 1, 1e-8},
                           {0.95, 0.0975, 1e-30},
                           {0.95, 0.0975, 0},
                           {0.999999999999, 1e-14, 1},
                           {0.999999999, 1e-12, 1}}) {
    for (const std::int64_t multiprocessors : {0, 4}) {
      for (const double lr : {3e-4, 0.0, 1e30}) {
        SCOPED_TRACE(fmt::format("beta2 {}, bias2 {}, eps {}, lr {}, {} multiprocessors", by.beta2, by.bias2, by.eps,
                                 lr, multiprocessors));
        Both<float> parameter(*gpu_stream, with_edges(41, 1, false)), first(*gpu_stream, with_edges(42, 1e-3, false)),
            second(*gpu_stream, with_edges(43, 1e-6, true)), gradient(*gpu_stream, with_edges(44, 1e-2, false)),
            amax(*gpu_stream, {0.0f});
        AdamWUpdate args{.parameter = parameter.cpu(),
                         .first_moment = first.cpu(),
                         .second_moment = second.cpu(),
                         .gradient = gradient.cpu(),
                         .n = n,
                         .lr = lr,
                         .beta1 = 0.9,
                         .beta2 = by.beta2,
                         .eps = by.eps,
                         .weight_decay = 0.1,
                         .bias1 = 0.271,
                         .bias2 = by.bias2,
                         .stats = {.amax = amax.cpu(), .non_finite = nullptr},
                         .multiprocessors = multiprocessors};
        cpu.adamw(*cpu_stream, args);
        args.stats.amax = amax.gpu();
        args.parameter = parameter.gpu(), args.first_moment = first.gpu();
        args.second_moment = second.gpu(), args.gradient = gradient.gpu();
        gpu().adamw(*gpu_stream, args);
        expect_same_values(parameter, "parameter");
        expect_same_values(first, "first moment");
        expect_same_values(second, "second moment");
        expect_same_values(amax, "amax");
      }
    }
  }
  // Nothing but zeros, of which a quotient by eps is no number: what is beyond the end is none of the amax.
  Both<float> zeros(*gpu_stream, {0, 0, 0}), ones(*gpu_stream, {1, 1, 1}), moved(*gpu_stream, {1, 1, 1}),
      amax(*gpu_stream, {0.0f});
  gpu().adamw(*gpu_stream, AdamWUpdate{.parameter = zeros.gpu(),
                                       .first_moment = moved.gpu(),
                                       .second_moment = ones.gpu(),
                                       .gradient = ones.gpu(),
                                       .n = 3,
                                       .lr = 1e-3,
                                       .beta1 = 0.9,
                                       .beta2 = 0.95,
                                       .eps = 0,
                                       .weight_decay = 0,
                                       .bias1 = 1,
                                       .bias2 = 1,
                                       .stats = {.amax = amax.gpu(), .non_finite = nullptr}});
  EXPECT_FLOAT_EQ(amax.download()[0], 1e-3f);
}

/// In e4m3, as a cast of what the update has left writes them.
TEST_F(GpuAdamW, CastsTheParametersThatItLeaves) {
  for (const std::int64_t n : {1, 3, 4, 1023, 4099, 16384, 50003}) {
    for (const std::int64_t offset : {0, 1, 2, 3}) {
      for (const std::int64_t multiprocessors : {0, 3}) {
        for (const std::uint32_t skipped : {0u, 1u}) {
          for (const bool narrow : {false, true}) {
            SCOPED_TRACE(fmt::format("n {}, offset {}, {} multiprocessors, skipped {}, narrow {}", n, offset,
                                     multiprocessors, skipped, narrow));
            State s(*gpu_stream, n + 4);
            Both<std::uint32_t> skip(*gpu_stream, {skipped});
            gpu().adamw(*gpu_stream,
                        AdamWUpdate{.parameter = s.parameter.gpu(),
                                    .first_moment = s.first.gpu(),
                                    .second_moment = s.second.gpu(),
                                    .gradient = narrow ? static_cast<const void*>(s.narrow.gpu()) : s.gradient.gpu(),
                                    .gradient_dtype = narrow ? DType::bf16 : DType::f32,
                                    .n = n,
                                    .lr = 0.1,
                                    .beta1 = 0.9,
                                    .beta2 = 0.95,
                                    .eps = 1e-8,
                                    .weight_decay = 0.1,
                                    .bias1 = 0.271,
                                    .bias2 = 0.142625,
                                    .skip = skip.gpu(),
                                    .float8 = {.y = s.codes.gpu() + offset, .scale = s.code_scale.gpu()},
                                    .stats = {.amax = skipped == 1 ? nullptr : s.amax.gpu(), .non_finite = nullptr},
                                    .multiprocessors = multiprocessors});
            const std::vector<float> left = s.parameter.download();
            EXPECT_EQ(left == s.parameter.host(), skipped == 1);
            cpu.cast_to_float8(*cpu_stream, {.x = left.data(),
                                             .from = DType::f32,
                                             .y = s.codes.cpu() + offset,
                                             .n = n,
                                             .scale = s.code_scale.cpu()});
            expect_same_bits(s.codes, "codes");
          }
        }
      }
    }
  }
}

TEST_F(GpuAdamW, OnFewMultiprocessorsHasTheSameBits) {
  constexpr std::int64_t n = 300007;
  for (const double bias2 : {0.142625, 1.0}) {
    SCOPED_TRACE(bias2);
    std::vector<std::vector<float>> found[2];
    for (const int which : {0, 1}) {
      State s(*gpu_stream, n);
      gpu().adamw(*gpu_stream, AdamWUpdate{.parameter = s.parameter.gpu(),
                                           .first_moment = s.first.gpu(),
                                           .second_moment = s.second.gpu(),
                                           .gradient = s.gradient.gpu(),
                                           .n = n,
                                           .lr = 3e-4,
                                           .beta1 = 0.9,
                                           .beta2 = 0.95,
                                           .eps = 1e-8,
                                           .weight_decay = 0.1,
                                           .bias1 = 0.271,
                                           .bias2 = bias2,
                                           .stats = {.amax = s.amax.gpu(), .non_finite = nullptr},
                                           .multiprocessors = 2 * which});
      found[which] = {s.parameter.download(), s.first.download(), s.second.download(), s.amax.download()};
    }
    EXPECT_EQ(found[1], found[0]);
  }
}

/// A unit's, of very different sizes, alignments and dtypes of gradients, in one launch on few multiprocessors and one
/// after the other on all: the bits of each alone.
TEST_F(GpuAdamW, SeveralHaveTheBitsOfEachAlone) {
  const std::int64_t sizes[] = {300007, 512, 0, 1100003, 5, 65536};
  for (const std::int64_t multiprocessors : {0, 3, 24}) {
    for (const std::uint32_t skipped : {0u, 1u}) {
      SCOPED_TRACE(fmt::format("{} multiprocessors, skipped {}", multiprocessors, skipped));
      Both<std::uint32_t> skip(*gpu_stream, {skipped});
      std::vector<std::vector<float>> found[2];
      for (const bool together : {false, true}) {
        std::vector<std::unique_ptr<State>> states;
        AdamWUpdates updates;
        for (const std::int64_t n : sizes) {
          State& s = *states.emplace_back(std::make_unique<State>(*gpu_stream, n + 1));
          const auto i = static_cast<std::int64_t>(states.size());
          const std::int64_t offset = i % 2;
          const bool narrow = i % 3 == 0;
          updates.add(
              {.parameter = s.parameter.gpu() + offset,
               .first_moment = s.first.gpu() + offset,
               .second_moment = s.second.gpu() + offset,
               .gradient = narrow ? static_cast<const void*>(s.narrow.gpu() + offset) : s.gradient.gpu() + offset,
               .gradient_dtype = narrow ? DType::bf16 : DType::f32,
               .n = n,
               .lr = 3e-4,
               .beta1 = 0.9,
               .beta2 = 0.95,
               .eps = 1e-8,
               .weight_decay = i == 2 ? 0.0 : 0.1,
               .bias1 = 0.271,
               .bias2 = 0.142625,
               .skip = skip.gpu(),
               .stats = {.amax = i == 1 ? nullptr : s.amax.gpu(), .non_finite = nullptr},
               .multiprocessors = multiprocessors});
        }
        if (together) {
          gpu().adamw(*gpu_stream, updates);
        } else {
          for (AdamWUpdate one : updates.all()) {
            one.multiprocessors = 0;
            gpu().adamw(*gpu_stream, one);
          }
        }
        for (const auto& s : states) {
          for (Both<float>* x : {&s->parameter, &s->first, &s->second, &s->amax})
            found[together].push_back(x->download());
        }
      }
      EXPECT_EQ(found[1], found[0]);
    }
  }
}

TEST_F(GpuAdamW, SkippedLeavesEverything) {
  for (const std::int64_t n : {0, 5, 4096}) compare(n, 0, 1);
  for (const std::int64_t n : {5, 20001}) compare(n, 0, 1, true, 2);
}

}  // namespace
}  // namespace octet::gpu_test

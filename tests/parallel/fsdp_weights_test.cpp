// Gathered weights, bit for bit, and the traffic that they cost.
#include "src/parallel/fsdp_weights.h"

#include <map>
#include <utility>

#include "src/base/error.h"
#include "src/optim/adamw.h"
#include "tests/parallel/parallel_test.h"

namespace octet {
namespace {

const std::vector<int> pass_units{0, 1, 2, 3, 2, 1};

struct Weights : test::ParallelTest {
  std::unique_ptr<ShardedBuffer> master;
  std::unique_ptr<WeightScales> scales;
  std::unique_ptr<FsdpWeights> weights;
  std::vector<std::vector<float>> whole;

  void make(ParameterList list, FsdpOptions options) {
    use(std::move(list));
    master = std::make_unique<ShardedBuffer>(buffer());
    scales = std::make_unique<WeightScales>(list_, *layout_, cpu_device(), *stream_);
    weights = std::make_unique<FsdpWeights>(list_, *master, *scales, *world_, *self_, *stream_, options);
    set_masters(0);
  }
  void set_masters(std::uint32_t version) {
    whole.clear();
    for (std::size_t i = 0; i < count(); ++i) {
      whole.push_back(
          test::random_values(spec(i).shape.elements(), 100 * version + static_cast<std::uint32_t>(i), 0.3));
      put(*master, i, whole[i]);
    }
    scales->measure(*master, kernels_);
    scales->update(*world_, kernels_);
    weights->invalidate();
  }
  void run_pass() {
    weights->begin_pass(pass_units);
    for (const int unit : pass_units) {
      weights->gather(unit);
      weights->release(unit);
    }
  }

  /// Of `size(parameter)` bytes, rounded up to the next 256, over the parameters of a unit.
  template <typename Size>
  std::int64_t bytes_of(int unit, Size&& size) const {
    const auto [first, last] = list_.range(unit);
    std::int64_t bytes = 0;
    for (std::size_t i = first; i < last; ++i) {
      bytes += (layout_->shard(i).padded_elements() * ranks_ * size(spec(i)) + 255) / 256 * 256;
    }
    return bytes;
  }
  std::int64_t expected_peak(const FsdpOptions& options) const {
    const auto gathered = [&](int unit) {
      return bytes_of(unit, [](const ParameterSpec& p) { return size_of(p.gathered); });
    };
    std::int64_t two = 0, all = 0, high = 0;
    for (std::size_t i = 0; i + 1 < pass_units.size(); ++i)
      two = std::max(two, gathered(pass_units[i]) + gathered(pass_units[i + 1]));
    for (int unit = 0; unit < static_cast<int>(list_.units.size()); ++unit) {
      all += gathered(unit);
      high = std::max(high, bytes_of(unit, [&](const ParameterSpec& p) {
                        return !options.float8_all_gather && is_float8(p.gathered) ? 2 : 0;
                      }));
    }
    return (options.zero == Zero::three ? two : all) + high;
  }

  /// What a gathered parameter must be, computed from the whole fp32 master: its bytes, and the inverse scale.
  struct Expected {
    std::vector<std::uint8_t> bytes;
    float inverse = 0;
  };
  Expected expected(std::size_t i, bool through_bf16) const {
    const ParameterSpec& p = spec(i);
    std::vector<float> w = whole[i];
    Expected e;
    e.bytes.resize(w.size() * static_cast<std::size_t>(size_of(p.gathered)));
    float amax = 0;
    for (float& x : w) {
      if (through_bf16) x = bf16(x);
      amax = std::max(amax, std::abs(x));
    }
    const auto scale = static_cast<float>(448.0 / double{amax});
    e.inverse = 1.0f / scale;
    for (std::size_t n = 0; n < w.size(); ++n) {
      const bf16 half(w[n]);
      if (p.gathered == DType::f32) std::memcpy(&e.bytes[4 * n], &w[n], 4);
      if (p.gathered == DType::bf16) std::memcpy(&e.bytes[2 * n], &half, 2);
      if (p.gathered == DType::e4m3) e.bytes[n] = e4m3(w[n] * scale).bits;
    }
    return e;
  }
  void expect_unit(int unit, std::span<const Tensor> got, bool through_bf16) const {
    const auto [first, last] = list_.range(unit);
    ASSERT_EQ(got.size(), last - first);
    for (std::size_t i = first; i < last; ++i) {
      const Tensor& t = got[i - first];
      const Expected e = expected(i, through_bf16);
      EXPECT_EQ(t.dtype, spec(i).gathered);
      EXPECT_EQ(t.shape, spec(i).shape);
      EXPECT_EQ(std::memcmp(t.data, e.bytes.data(), e.bytes.size()), 0) << spec(i).name;
      if (is_float8(t.dtype)) {
        EXPECT_EQ(*t.inverse_scale, e.inverse) << spec(i).name;
      } else {
        EXPECT_EQ(t.inverse_scale, nullptr) << spec(i).name;
      }
    }
  }
  void expect_pass(bool through_bf16) {
    weights->begin_pass(pass_units);
    for (const int unit : pass_units) {
      expect_unit(unit, weights->gather(unit), through_bf16);
      weights->release(unit);
    }
  }

  static void expect_transposed(const Tensor& w, const Tensor& turned) {
    if (!is_float8(w.dtype)) {
      EXPECT_EQ(turned.shape.rank(), 0);
      return;
    }
    ASSERT_EQ(turned.shape, (Shape{w.shape[1], w.shape[0]}));
    EXPECT_EQ(turned.inverse_scale, w.inverse_scale);
    for (std::int64_t r = 0; r < w.shape[0]; ++r) {
      for (std::int64_t c = 0; c < w.shape[1]; ++c) {
        ASSERT_EQ(turned.as<e4m3>()[c * w.shape[0] + r].bits, w.as<e4m3>()[r * w.shape[1] + c].bits);
      }
    }
  }

  /// All-gathered bytes of a unit as the trace has them: by dtype.
  std::map<std::string, std::int64_t> traffic(const std::string& unit) const {
    std::map<std::string, std::int64_t> bytes;
    for (const CommRecord& r : trace_.records()) {
      if (r.operation == "all_gather" && r.unit == unit) bytes[std::string(name_of(r.dtype))] += r.bytes;
    }
    return bytes;
  }
  std::int64_t padded(std::int64_t rows) const { return (rows + ranks_ - 1) / ranks_ * ranks_; }
};

TEST_F(Weights, Float8BytesEqualTheCastOfTheWholeMaster) {
  for (const Zero zero : {Zero::three, Zero::two}) {
    make(test::example_list(DType::e4m3), {.zero = zero, .float8_all_gather = true});
    expect_pass(false);
    set_masters(1);  // new masters, new scales, nothing of the old
    expect_pass(false);
  }
}

/// Of fp8 weights alone, made once until the masters change.
TEST_F(Weights, TransposedCopiesStayAsLongAsTheWeights) {
  make(test::example_list(DType::e4m3), {.zero = Zero::two, .keep_transposed = true});
  for (std::uint32_t version = 0; version < 2; ++version) {
    set_masters(version);
    std::map<int, std::vector<void*>> places;
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
      weights->begin_pass(pass_units);
      for (const int unit : pass_units) {
        const std::span<const Tensor> rows = weights->gather(unit), turned = weights->transposed(unit);
        ASSERT_EQ(turned.size(), rows.size());
        std::vector<void*> now;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          now.push_back(turned[i].data);
          if (!places.contains(unit)) expect_transposed(rows[i], turned[i]);
        }
        if (!places.contains(unit)) {  // spoiled, so that a copy that is made again is seen
          places[unit] = now;
          for (const Tensor& t : turned)
            std::fill_n(static_cast<char*>(t.data), t.shape.rank() == 0 ? 0 : t.bytes(), '\x55');
        }
        EXPECT_EQ(now, places[unit]);
        for (const Tensor& t : turned) {  // not made again
          EXPECT_TRUE(t.shape.rank() == 0 || t.as<e4m3>()->bits == 0x55);
        }
        weights->release(unit);
      }
    }
  }
  make(test::example_list(DType::e4m3), {.zero = Zero::two});
  weights->begin_pass(pass_units);
  weights->gather(pass_units[0]);
  EXPECT_TRUE(weights->transposed(pass_units[0]).empty());
}

TEST_F(Weights, WithoutFloat8AllGatherWeightsAreRoundedTwice) {
  make(test::example_list(DType::e4m3), {.zero = Zero::three, .float8_all_gather = false});
  expect_pass(true);
  std::size_t differences = 0;
  for (std::size_t i = 0; i < count(); ++i) differences += expected(i, true).bytes != expected(i, false).bytes ? 1 : 0;
  EXPECT_GT(differences, 3u);  // so that this test can tell the two from each other
}

TEST_F(Weights, Bf16AndFp32AreTheRoundedMaster) {
  make(test::example_list(DType::bf16), {});
  expect_pass(false);
  make(test::example_list(DType::f32, DType::f32), {});
  expect_pass(false);
}

TEST_F(Weights, ALoneRankComputesWithTheFp32MasterItself) {
  if (ranks_ > 1) GTEST_SKIP() << "for one rank";
  make(test::example_list(DType::f32, DType::f32), {});
  weights->begin_pass(pass_units);
  EXPECT_EQ(weights->gather(0)[0].data, master->data(0));
  EXPECT_EQ(cpu_device().ledger().usage(Purpose::gathered).now, 0);
}

/// Those that an update leaves in their places are not made again.
TEST_F(Weights, AnUpdateLeavesALoneRanksInBf16) {
  for (const Zero zero : {Zero::two, Zero::three}) {
    make(test::example_list(DType::e4m3), {.zero = zero});
    EXPECT_TRUE(weights->places_of_update(0).empty());  // not gathered
    run_pass();
    const bool stay = ranks_ == 1 && zero == Zero::two;
    for (const int unit : {0, 1, 2, 3}) {
      const std::vector<void*> places = weights->places_of_update(unit);
      EXPECT_EQ(places.empty(), !stay) << unit;
      for (void* place : places) *static_cast<std::uint16_t*>(place) = 0x5555;
    }
    weights->updated();
    weights->begin_pass(pass_units);
    for (const int unit : pass_units) {
      const auto* first = static_cast<const std::uint16_t*>(weights->gather(unit)[0].data);
      EXPECT_EQ(*first == 0x5555, stay) << unit;
      weights->release(unit);
    }
    set_masters(1);
    expect_pass(false);
  }
}

/// An update of all that is gathered, which leaves it; gradients are -1, but for the largest element of each weight
/// that is 1. So an element that is nearly as large comes before it where the step is large.
struct LeftWeights : Weights {
  std::unique_ptr<ShardedBuffer> gradients, first, second;

  void SetUp() override {
    if (ranks_ > 1) GTEST_SKIP() << "for one rank";
    make(test::example_list(DType::e4m3), {.zero = Zero::two, .keep_transposed = true});
    run_pass();
    gradients = std::make_unique<ShardedBuffer>(buffer());
    first = std::make_unique<ShardedBuffer>(buffer());
    second = std::make_unique<ShardedBuffer>(buffer());
  }
  std::size_t largest(std::size_t i) const {
    const auto smaller = [](float a, float b) { return std::abs(a) < std::abs(b); };
    return static_cast<std::size_t>(std::ranges::max_element(whole[i], smaller) - whole[i].begin());
  }
  void update(float lr, std::uint32_t skip) {
    scales->clear();
    std::vector<OptimizerSlice> slices;
    for (int unit = 0; unit < static_cast<int>(list_.units.size()); ++unit) {
      const std::vector<void*> places = weights->places_of_update(unit);
      for (void* place : places) {
        const std::size_t i = slices.size();
        const std::int64_t n = layout_->shard(i).elements();
        std::fill_n(gradients->data(i), n, -1.0f);
        gradients->data(i)[largest(i)] = 1;
        const bool float8 = is_float8(spec(i).gathered);
        slices.push_back({.parameter = master->data(i),
                          .gradient = gradients->data(i),
                          .first_moment = first->data(i),
                          .second_moment = second->data(i),
                          .n = n,
                          .rounded = float8 ? nullptr : place,
                          .float8 = float8 ? scales->float8_of_update(i, place) : Float8Out{},
                          .prediction = float8 ? scales->prediction(i) : ScalePrediction{},
                          .amax = scales->amax(i)});
      }
    }
    ASSERT_EQ(slices.size(), count());
    const float clip = 1;
    adamw_step(*stream_, kernels_, {.lr = 0, .weight_decay = 0.1, .no_decay = {}}, double{lr}, ++steps_, slices, &clip,
               &skip);
    scales->update(*world_, kernels_);
    weights->updated();
    for (std::size_t i = 0; i < count(); ++i) std::copy_n(master->data(i), whole[i].size(), whole[i].begin());
  }
  /// Each largest element of an fp8 weight is 3, and the first that is not it so much.
  void set_largest(float other) {
    for (std::size_t i = 0; i < count(); ++i) {
      if (!is_float8(spec(i).gathered)) continue;
      const std::size_t at = largest(i);
      master->data(i)[at] = whole[i][at] = 3;
      master->data(i)[at == 0 ? 1 : 0] = whole[i][at == 0 ? 1 : 0] = other;
    }
  }
  /// In how many fp8 weights a code that is spoiled here is not made again when the weights are asked for.
  int kept() {
    std::vector<std::uint8_t*> spoiled;
    for (const int unit : {1, 2}) {
      const std::vector<void*> places = weights->places_of_update(unit);
      for (std::size_t i = 1; i < places.size(); ++i) spoiled.push_back(static_cast<std::uint8_t*>(places[i]));
    }
    std::vector<std::uint8_t> before;
    for (std::uint8_t* code : spoiled) before.push_back(std::exchange(*code, std::uint8_t{0x55}));
    run_pass();
    int kept = 0;
    for (std::size_t i = 0; i < spoiled.size(); ++i) {
      if (*spoiled[i] != 0x55) continue;
      ++kept;
      *spoiled[i] = before[i];
    }
    return kept;
  }
  void expect_all() {
    weights->begin_pass(pass_units);
    for (const int unit : pass_units) {
      const std::span<const Tensor> w = weights->gather(unit), turned = weights->transposed(unit);
      expect_unit(unit, w, false);
      for (std::size_t i = 0; i < w.size(); ++i) expect_transposed(w[i], turned[i]);
      weights->release(unit);
    }
  }

 private:
  std::int64_t steps_ = 0;
};

TEST_F(LeftWeights, AreCastAgainOnlyWhereAnotherElementBecameTheLargest) {
  set_largest(2.5f);
  update(1e-3f, 0);  // nobody knows the largest
  EXPECT_EQ(kept(), 0);
  expect_all();
  update(1e-3f, 0);  // it stays so
  EXPECT_EQ(kept(), 6);
  expect_all();
  set_largest(2.99f);
  update(0.2f, 0);  // it is overtaken
  EXPECT_EQ(kept(), 0);
  expect_all();
  update(1e-3f, 0);  // the new one stays so
  EXPECT_EQ(kept(), 6);
  expect_all();
}

TEST_F(LeftWeights, AreThoseOfTheStepBeforeWhereTheUpdateIsSkipped) {
  for (const int predicted : {0, 6}) {  // at first nobody knows the largest
    update(1e-3f, 1);
    EXPECT_EQ(kept(), predicted);
    expect_all();
  }
}

/// New masters, of which the update knows nothing.
TEST_F(LeftWeights, AreGatheredAnewWhereTheMastersAreWritten) {
  update(1e-3f, 0);
  set_masters(1);
  expect_all();
  update(1e-3f, 0);
  expect_all();
}

/// Scales that are known when ranks have exchanged abs-maxes are not known to an update.
TEST_F(Weights, AnUpdateLeavesNoneInFloat8WhoseScalesAreExchanged) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank exchanges nothing";
  use(test::example_list(DType::e4m3));
  const ShardLayout whole_layout(list_, 0, 1);
  const ShardedBuffer all(whole_layout, cpu_device(), *stream_, Purpose::parameters);
  WeightScales of_all(list_, whole_layout, cpu_device(), *stream_);
  FsdpWeights parts(list_, all, of_all, *self_, *world_, *stream_, {.zero = Zero::two});
  parts.begin_pass(pass_units);
  for (const int unit : pass_units) parts.gather(unit);
  EXPECT_FALSE(parts.places_of_update(0).empty());
  EXPECT_TRUE(parts.places_of_update(1).empty());
}

TEST_F(Weights, AnUpdateLeavesMastersThatAreWeights) {
  if (ranks_ > 1) GTEST_SKIP() << "for one rank";
  make(test::example_list(DType::f32, DType::f32), {.zero = Zero::two});
  run_pass();
  const std::vector<void*> places = weights->places_of_update(1);
  EXPECT_EQ(places, std::vector<void*>(4, nullptr));
  weights->updated();
  expect_pass(false);
}

TEST_F(Weights, OneGatherAParameterInTheBytesOfItsFormat) {
  struct Case {
    DType linears;
    bool float8_all_gather;
    const char* linears_travel_as;
    std::int64_t size;
  };
  for (const Case& c :
       {Case{DType::e4m3, true, "e4m3", 1}, Case{DType::e4m3, false, "bf16", 2}, Case{DType::bf16, true, "bf16", 2}}) {
    make(test::example_list(c.linears), {.zero = Zero::two, .float8_all_gather = c.float8_all_gather});
    trace_.clear();
    run_pass();
    if (ranks_ == 1) {
      EXPECT_EQ(trace_.records().size(), 0u);
      continue;
    }
    EXPECT_EQ(trace_.calls("all_gather"), 11);
    std::map<std::string, std::int64_t> block{{"bf16", 2 * padded(12)}};
    block[c.linears_travel_as] += c.size * (padded(37) * 12 + padded(2) * 24 + padded(48) * 8);
    EXPECT_EQ(traffic("block.0"), block);
    EXPECT_EQ(traffic("block.1"), block);
    EXPECT_EQ(traffic("embedding"), (std::map<std::string, std::int64_t>{{"bf16", 2 * padded(50) * 12}}));
    EXPECT_EQ(traffic("head"), (std::map<std::string, std::int64_t>{{"bf16", 2 * (padded(12) + padded(50) * 12)}}));
    EXPECT_EQ(trace_.records().size(), 11u);  // and nothing else travels
  }
}

/// Gathers of each unit in a step of two micro-batches: only blocks return in backward, the last one at once.
TEST_F(Weights, GathersOfAStepWithAndWithoutResharding) {
  for (const Zero zero : {Zero::three, Zero::two}) {
    make(test::example_list(DType::e4m3), {.zero = zero, .float8_all_gather = true});
    for (int step = 0; step < 2; ++step) {
      trace_.clear();
      run_pass();
      run_pass();
      weights->invalidate();  // the optimizer's step
      std::map<std::string, int> calls;
      for (const CommRecord& r : trace_.records()) ++calls[r.unit];
      const auto times = [&](int parameters, int gathers) { return ranks_ == 1 ? 0 : parameters * gathers; };
      EXPECT_EQ(calls["embedding"], times(1, zero == Zero::three ? 2 : 1));
      EXPECT_EQ(calls["block.0"], times(4, zero == Zero::three ? 4 : 1));
      EXPECT_EQ(calls["block.1"], times(4, zero == Zero::three ? 2 : 1));
      EXPECT_EQ(calls["head"], times(2, zero == Zero::three ? 2 : 1));
    }
  }
}

TEST_F(Weights, TheNextUnitIsGatheredBeforeThisOneIsUsed) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank gathers nothing";
  make(test::example_list(DType::e4m3), {});
  trace_.clear();
  weights->begin_pass(pass_units);
  weights->gather(0);
  EXPECT_EQ(trace_.records().back().unit, "block.0");
  weights->gather(1);
  EXPECT_EQ(trace_.records().back().unit, "block.1");
}

TEST_F(Weights, ScalesTravelInOneMaxAllReduce) {
  make(test::example_list(DType::e4m3), {});
  trace_.clear();
  scales->update(*world_, kernels_);
  EXPECT_EQ(trace_.records(), (std::vector<CommRecord>{{"all_reduce_max", "world", ranks_, DType::f32, 6, 24, ""}}));
}

TEST_F(Weights, OrderViolationsThrow) {
  make(test::example_list(DType::bf16), {});
  EXPECT_THROW(weights->gather(0), Error);
  weights->begin_pass(pass_units);
  EXPECT_THROW(weights->gather(2), Error);
}

/// At once there are a unit and the next one of the pass, or all of them where they stay, and beside them the bf16
/// forms of the unit that has most of them.
TEST_F(Weights, MemoryIsThatOfTwoUnitsOrOfAll) {
  for (const FsdpOptions& options : {FsdpOptions{.zero = Zero::three, .float8_all_gather = true},
                                     FsdpOptions{.zero = Zero::two, .float8_all_gather = true},
                                     FsdpOptions{.zero = Zero::one, .float8_all_gather = true},
                                     FsdpOptions{.zero = Zero::three, .float8_all_gather = false}}) {
    weights.reset();  // an earlier provider's buffers
    const std::int64_t before = cpu_device().ledger().usage(Purpose::gathered).now;
    make(test::example_list(DType::e4m3), options);
    cpu_device().ledger().reset_peaks();
    run_pass();
    run_pass();
    EXPECT_EQ(cpu_device().ledger().usage(Purpose::gathered).peak - before, expected_peak(options));
  }
}

}  // namespace
}  // namespace octet

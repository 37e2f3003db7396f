#include "src/parallel/weight_layout.h"

#include "tests/parallel/parallel_test.h"

namespace octet {
namespace {

struct Span {
  std::int64_t begin = 0, end = 0;
};

/// The places of one unit, in the order of its parameters, lie apart, each on 256 bytes, and end within `bytes`.
void expect_apart(const std::vector<Span>& places, std::int64_t bytes) {
  std::int64_t end = 0;
  for (const Span& place : places) {
    EXPECT_EQ(place.begin % 256, 0);
    EXPECT_GE(place.begin, end);
    end = place.end;
  }
  EXPECT_LE(end, bytes);
}

TEST(WeightLayout, NoTwoPlacesOfAUnitOverlap) {
  for (const int shards : {1, 3, 8}) {
    for (const bool float8_all_gather : {true, false}) {
      for (const bool one_rank_exchange : {true, false}) {
        const ParameterList list = test::example_list(DType::e4m3);
        const WeightLayout layout(list, shards,
                                  {.float8_all_gather = float8_all_gather, .one_rank_exchange = one_rank_exchange});
        for (int unit = 0; unit < static_cast<int>(list.units.size()); ++unit) {
          std::vector<Span> weights, bf16_forms, staged;
          const auto [first, last] = list.range(unit);
          for (std::size_t i = first; i < last; ++i) {
            const ParameterSpec& p = list.parameters[i];
            const std::int64_t elements = Shard::of(p.shape, 0, shards).padded_elements() * shards;
            weights.push_back({layout.offset(i), layout.offset(i) + elements * size_of(p.gathered)});
            const std::int64_t begin = layout.bf16_offset(i);
            if (layout.cast_after(i)) bf16_forms.push_back({begin, begin + elements * 2});
            const std::int64_t mine = layout.staging_offset(i);
            staged.push_back({mine, mine + elements / shards * size_of(layout.travels(i))});
          }
          expect_apart(weights, layout.bytes(unit));
          expect_apart(bf16_forms, layout.bf16_bytes(unit));
          expect_apart(staged, layout.largest_unit());
        }
      }
    }
  }
}

TEST(WeightLayout, MastersOfAGroupOfOneHaveNoPlace) {
  const ParameterList list = test::example_list(DType::e4m3, DType::f32);  // the embedding, norms and the head in fp32
  const WeightLayout alone(list, 1, {}), exchanged(list, 1, {.one_rank_exchange = true}), two(list, 2, {});
  EXPECT_TRUE(alone.is_master(0));
  EXPECT_EQ(alone.bytes(0), 0);
  EXPECT_FALSE(alone.is_master(2));  // fp8
  for (const WeightLayout* sent : {&exchanged, &two}) {
    EXPECT_FALSE(sent->is_master(0));
    EXPECT_EQ(sent->travels(0), DType::f32);
    EXPECT_GE(sent->bytes(0), 50 * 12 * 4);
  }
}

TEST(WeightLayout, Fp8WeightsTravelAsTheyAreGathered) {
  const ParameterList list = test::example_list(DType::e4m3);
  const WeightLayout before(list, 2, {.float8_all_gather = true}), after(list, 2, {.float8_all_gather = false});
  for (std::size_t i = 0; i < list.parameters.size(); ++i) {
    const bool float8 = is_float8(list.parameters[i].gathered);
    EXPECT_FALSE(before.cast_after(i));
    EXPECT_EQ(before.travels(i), float8 ? DType::e4m3 : DType::bf16);
    EXPECT_EQ(after.cast_after(i), float8);
    EXPECT_EQ(after.travels(i), DType::bf16);
    EXPECT_EQ(before.offset(i), after.offset(i));
  }
  EXPECT_EQ(before.bf16_bytes(1), 0);
  EXPECT_EQ(after.bf16_bytes(0), 0);  // the embedding has no fp8 weight
}

}  // namespace
}  // namespace octet
